<?php
// Runs main.php, a program and its tests, and then writes what it was given on standard input: that the tests came to their end. While the
// program runs, what was read is an operand of this expression, and no name leads to it.
fwrite(STDOUT, stream_get_contents(STDIN) . substr(strval(include __DIR__ . '/main.php'), 0, 0) . (isset($DONE) ? '' : exit(1)));
