"""The program that the target interpreter runs to compile sources: it imports nothing but ``sys``, and runs no source.

It speaks over its standard streams. First it says ``preflight MAJOR MINOR MICRO``. Then, for every
request (a line with a byte count, and as many bytes) it answers with one line of tab-separated fields:
``ok``, or ``error TYPE STAGE LINE OFFSET END_LINE END_OFFSET MESSAGE`` with ``-`` for what is not known. STAGE is
``parse`` when the grammar refuses the text, ``compile`` when only the compiler behind it does (a ``return`` outside a
function). It must be readable by any Python, so that an old one can say which it is.
"""

SCRIPT = r"""
import sys
v = sys.version_info
sys.stdout.write("preflight %d %d %d\n" % (v[0], v[1], v[2]))
sys.stdout.flush()
if v[0] < 3:
    sys.exit(0)
source, answer = sys.stdin.buffer, sys.stdout.buffer
def fields(error, data):
    kind = type(error).__name__
    stage = "parse"
    if isinstance(error, SyntaxError):
        try:
            compile(data, "<source>", "exec", 0x400, True)
            stage = "compile"
        except Exception:
            pass
        values = [getattr(error, name, None) for name in ("lineno", "offset", "end_lineno", "end_offset")]
        message = error.msg
    else:
        values = [None] * 4
        message = str(error)
    places = ["-" if value is None else str(value) for value in values]
    return ["error", kind, stage] + places + [" ".join(str(message).split())]
while True:
    head = source.readline()
    if not head:
        break
    data = source.read(int(head))
    try:
        compile(data, "<source>", "exec", 0, True)
        reply = ["ok"]
    except Exception as error:
        reply = fields(error, data)
    answer.write(("\t".join(reply) + "\n").encode("utf-8", "backslashreplace"))
    answer.flush()
"""
