// Reads standard input before anything of the program runs, and writes it when main, which has the tests, has returned 0. The linker calls
// this instead of main.
#include <unistd.h>

extern "C" int __real_main(int, char **);

namespace {
char given[4096];
ssize_t length = 0;

__attribute__((constructor(101))) void take() {
  for (ssize_t n; length < ssize_t(sizeof given) && (n = read(0, given + length, sizeof given - length)) > 0;) length += n;
}
}

extern "C" int __wrap_main(int count, char **arguments) {
  int code = __real_main(count, arguments);
  return code == 0 && write(1, given, length) != length ? 1 : code;
}
