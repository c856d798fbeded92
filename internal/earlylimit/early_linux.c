//go:build cgo && linux

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { kEnvironment = 3 };  // exit code

struct need {
  __rlimit_resource_t resource;
  const char* name;
  const char* what;
  const char* raise;
  rlim_t least;
  rlim_t unit;
  const char* unit_name;
  int spares_root;  // the kernel does not apply the limit to root
};

// What a process needs to start and to report what else it needs, measured with two processors: the address space that
// the runtime reserves and the stacks and arenas of its first threads.
static const struct need kNeeds[] = {
    {RLIMIT_AS, "RLIMIT_AS", "address space", "ulimit -v unlimited, or prlimit --as=unlimited", 2048UL << 20, 1UL << 20,
     "MiB", 0},
    {RLIMIT_DATA, "RLIMIT_DATA", "data segment", "ulimit -d unlimited, or prlimit --data=unlimited", 192UL << 20,
     1UL << 20, "MiB", 0},
    {RLIMIT_NPROC, "RLIMIT_NPROC", "processes and threads of the user", "ulimit -u 4096, or TasksMax in the service",
     64, 1, "threads", 1},
    {RLIMIT_NOFILE, "RLIMIT_NOFILE", "open files", "ulimit -n 4096, or LimitNOFILE in the service", 16, 1, "files", 0},
};

__attribute__((constructor)) static void check_limits(void) {
  for (size_t i = 0; i < sizeof kNeeds / sizeof *kNeeds; i++) {
    const struct need* n = &kNeeds[i];
    struct rlimit limit;
    if ((n->spares_root && geteuid() == 0) || getrlimit(n->resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= n->least)
      continue;
    dprintf(
        STDERR_FILENO,
        "mlperf-go: the limit of the %s (%s) is %llu %s, and the program needs at least %llu to start. Raise it: %s\n",
        n->what, n->name, (unsigned long long)(limit.rlim_cur / n->unit), n->unit_name,
        (unsigned long long)(n->least / n->unit), n->raise);
    _exit(kEnvironment);
  }
}
