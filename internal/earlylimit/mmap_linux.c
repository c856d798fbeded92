//go:build cgo && linux && !asan && !msan

#define _GNU_SOURCE  // RTLD_NEXT
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kEnvironment = 3 };  // exit code

struct limit {
  __rlimit_resource_t resource;
  const char* name;
  const char* what;
  const char* raise;
  int column;  // of /proc/self/statm, from 0, in pages
};

static const struct limit kLimits[] = {
    {RLIMIT_AS, "RLIMIT_AS", "address space", "ulimit -v unlimited, or prlimit --as=unlimited", 0},
    {RLIMIT_DATA, "RLIMIT_DATA", "data segment", "ulimit -d unlimited, or prlimit --data=unlimited", 5},
};

// Reads the first six numbers of /proc/self/statm, and returns how many it has read.
static int read_statm(unsigned long long pages[6]) {
  char text[256];
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  return sscanf(text, "%llu %llu %llu %llu %llu %llu", pages, pages + 1, pages + 2, pages + 3, pages + 4, pages + 5);
}

// Returns whether a limit leaves no room for so many bytes more. Names it, if is_final, and ends the process.
static int at_limit(size_t length, int is_final) {
  unsigned long long pages[6];
  const int known = read_statm(pages);
  for (size_t i = 0; i < sizeof kLimits / sizeof *kLimits; i++) {
    const struct limit* l = &kLimits[i];
    struct rlimit has;
    if (l->column >= known || getrlimit(l->resource, &has) != 0 || has.rlim_cur == RLIM_INFINITY) continue;
    const unsigned long long used = pages[l->column] * (unsigned long long)sysconf(_SC_PAGESIZE);
    const unsigned long long most = has.rlim_cur, more = length;
    if (used + more <= most) continue;
    if (!is_final) return 1;
    dprintf(STDERR_FILENO,
            "mlperf-go: memory ran out: the limit of the %s (%s) is %llu MiB, %llu are in use, and %llu more are "
            "needed. Raise it: %s. A test that was running is not saved\n",
            l->what, l->name, most >> 20, used >> 20, (more >> 20) + 1, l->raise);
    _exit(kEnvironment);
  }
  return 0;
}

// The Go runtime calls this mmap through runtime/cgo, and answers a failure with a dump and exit code 2. The symbol is
// hidden, so that shared libraries keep the C library's.
__attribute__((visibility("hidden"))) void* mmap(void* address, size_t length, int protection, int flags, int fd,
                                                 off_t offset) {
  const long at = syscall(SYS_mmap, address, length, protection, flags, fd, offset);
  if (at == -1 && errno == ENOMEM) {
    at_limit(length, 1);
    errno = ENOMEM;
  }
  return (void*)at;
}

enum { kTries = 50, kPauseUS = 100000 };

// The Go runtime aborts with a dump when it gets no stack for a thread, which comes from the C library's own mmap. For
// five seconds, this one waits for memory, in which a test that runs short of it can end and be saved.
__attribute__((visibility("hidden"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                         void* (*run)(void*), void* argument) {
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  size_t stack = 0;
  for (int tries = 0;; tries++) {
    const int error = create(thread, attributes, run, argument);
    if (error != EAGAIN || attributes == NULL || pthread_attr_getstacksize(attributes, &stack) != 0) return error;
    if (!at_limit(stack, tries == kTries)) return error;
    usleep(kPauseUS);
  }
}
