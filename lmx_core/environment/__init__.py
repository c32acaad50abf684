"""Where files live and commands run: the seam between tools and a machine.

Tools never open a file or start a process themselves. They ask the `Environment` of their context, so that a container, a
remote workspace or a test can stand in for the local machine (EN-10). Path confinement and credential scrubbing keep a
model from straying and from reading keys by accident; they are not isolation (NO-8).
"""
