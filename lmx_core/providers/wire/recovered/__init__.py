"""Tool calls that a small model wrote as text instead of calling.

Models trained for calls write them in marks of their own, and a server whose template does not know the marks hands them on as
words; smaller ones write the JSON without any. Two things must not happen: that a person watches raw JSON stream by before it
turns into a call, and that an example which an answer merely quotes is run. So whatever may still become a call is held back,
and it counts only if it names a tool of the request and stands where a call would: within marks, outside of quotes and code, or
as the last thing of the answer. How the answer was cut into pieces changes nothing: a decision is taken only once no further
text could change it.
"""

from lmx_core.providers.wire.recovered.shapes import Recovered as Recovered
from lmx_core.providers.wire.recovered.sieve import HOLD_MOST as HOLD_MOST
from lmx_core.providers.wire.recovered.sieve import Sieve as Sieve
from lmx_core.providers.wire.recovered.sieve import recover as recover
