# Runs program.py, a program and its tests, and then writes what it was given on standard input: that the tests came to their end.
import builtins
import os
import traceback

leave = os._exit


def run():
    """The program as the benchmark's reference runs it: as text in an empty module, where leaving early is failing too."""
    before = dict(vars(builtins))
    try:
        exec(compile(open("program.py").read(), "program.py", "exec"), {})
    except BaseException:
        traceback.print_exc()
        leave(1)
    for name in before:
        if vars(builtins).get(name) is not before[name]:
            leave(1)  # the tests were compared with what the program had put in place of a builtin
    return b""


# While the program runs, what was read lies on the interpreter's stack alone: no name, frame or object leads to it.
leave(0 if os.write(1, os.read(0, 4096) + run()) else 1)
