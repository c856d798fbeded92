// What a static libstdc++, libgcc and the headers of a newer glibc call, and glibc 2.28 does not have. A release links
// this file; every name is hidden, so that a newer glibc keeps its own.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

// Since 2.32. Zero means that there may be other threads: reference counts stay atomic.
HIDDEN char __libc_single_threaded = 0;

// Since 2.34 under this name.
extern int __res_search(const char* name, int class, int type, unsigned char* answer, int length);
HIDDEN int res_search(const char* name, int class, int type, unsigned char* answer, int length) {
  return __res_search(name, class, type, answer, length);
}

// Since 2.36. Only std::random_device calls it.
HIDDEN uint32_t arc4random(void) {
  uint32_t word;
  if (getentropy(&word, sizeof word) != 0) abort();
  return word;
}

static int64_t Nanoseconds(const struct timespec* t) { return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec; }

static int64_t Now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return Nanoseconds(&t);
}

// Since 2.30. Waits as older versions of libstdc++ did: until the same moment of the system clock. A clock that was set
// meanwhile makes a wake-up without a cause, which every caller of a condition variable allows for.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  const int64_t end = Now(CLOCK_REALTIME) + (Nanoseconds(until) - Now(clock));
  const struct timespec at = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
  const int failed = pthread_cond_timedwait(condition, mutex, &at);
  return failed == ETIMEDOUT && Now(clock) < Nanoseconds(until) ? 0 : failed;
}

// Since 2.35. libgcc asks it for the unwind table of an address when an exception is thrown.
struct dl_find_object;

// The fields of the public structure that libgcc reads; the rest is zero.
struct found {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct search {
  uintptr_t address;
  struct found* found;
};

static int Match(struct dl_phdr_info* object, size_t size, void* data) {
  struct search* s = data;
  (void)size;
  int inside = 0;
  void* eh_frame = NULL;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) eh_frame = (void*)start;
    if (segment->p_type != PT_LOAD || s->address < start || s->address >= start + segment->p_memsz) continue;
    inside = 1;
    s->found->map_start = (void*)start;
    s->found->map_end = (void*)(start + segment->p_memsz);
  }
  s->found->eh_frame = eh_frame;
  return inside && eh_frame != NULL;
}

HIDDEN int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search s = {(uintptr_t)address, (struct found*)result};
  memset(s.found, 0, sizeof *s.found);
  return dl_iterate_phdr(Match, &s) ? 0 : -1;
}
