"""The program that the target interpreter runs to compile sources: it imports nothing but ``sys``, and runs no source.

It speaks over its standard streams. First it says ``preflight MAJOR MINOR MICRO``. Then, for every request (a line with
a byte count and the word ``whole`` or ``broken``, and as many bytes) it answers with one line of tab-separated fields:
``ok``, or ``error TYPE STAGE LINE OFFSET END_LINE END_OFFSET MESSAGE`` with ``-`` for what is not known. STAGE is
``parse`` when the grammar refuses the text, ``compile`` when only the compiler behind it does (a ``return`` outside a
function). ``broken`` says that the text will probably be refused: it is then parsed first, which tells the stage.
It must be readable by any Python, so that an old one can say which it is.
"""

SCRIPT = r"""
import sys
v = sys.version_info
sys.stdout.write("preflight %d %d %d\n" % (v[0], v[1], v[2]))
sys.stdout.flush()
if v[0] < 3:
    sys.exit(0)
source, answer = sys.stdin.buffer, sys.stdout.buffer
def fields(error, stage):
    values = [None] * 4
    message = str(error)
    if isinstance(error, SyntaxError):
        values = [getattr(error, name, None) for name in ("lineno", "offset", "end_lineno", "end_offset")]
        message = str(error.msg)
    places = ["-" if value is None else str(value) for value in values]
    return ["error", type(error).__name__, stage] + places + [" ".join(message.split())]
def refusal(data, flags, stage):
    try:
        compile(data, "<source>", "exec", flags, True)
    except Exception as error:
        return fields(error, stage)
while True:
    head = source.readline().split()
    if not head:
        break
    data = source.read(int(head[0]))
    if head[1] == b"broken":
        reply = refusal(data, 0x400, "parse") or refusal(data, 0, "compile")
    else:
        reply = refusal(data, 0, "compile")
        if reply:
            reply = refusal(data, 0x400, "parse") or reply
    answer.write(("\t".join(reply or ["ok"]) + "\n").encode("utf-8", "backslashreplace"))
    answer.flush()
"""
