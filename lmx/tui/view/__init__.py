"""The transcript as it is drawn: blocks to rows of cells.

    from lmx.tui.view.transcript import TranscriptView
    from lmx.tui.view.theme import THEMES

    view = TranscriptView(THEMES[look.theme])      # one widget; height 1fr
    view.append(block); view.replace(block); view.remove_block(key); view.clear(); view.set_theme(theme)
    view.scroll_rows(-3); view.page(1); view.to_top(); view.to_bottom()
    view.follow, view.rows_below                   # for the pill; TranscriptView.Moved(follow, rows_below) tells of changes
    view.has_selection, view.selected_text(), view.clear_selection()   # TranscriptView.Selected(text) when a drag ends

The rooms, from low to high: `width` (cells, wrapping), `theme`, `pieces` (logical lines that wrap to rows), `inline`, `code`,
`table` and `markdown` (text to pieces, as it streams), `render` (blocks to pieces), `heights` and `flow` (which rows are in
sight), `selection`, `transcript` (the widget). All but the last are pure. Nothing is imported here: Textual must load lazily.
"""
