// A tool for NVTX: it writes the ranges of a process into the file that NVTX_TEST_RECORD names, one event a line. The
// library loads it as it would load Nsight, by NVTX_INJECTION64_PATH.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char* message;
} attributes;

typedef struct {
  size_t size;
  int (*module_table)(int module, void*** out, unsigned* n);
} callbacks;

// Numbers of NVTX's binary interface.
enum { kCallbacks = 1, kCore2 = 5, kRangeStart = 2, kRangeEnd = 3, kNameCategory = 8, kCreate = 12 };

static FILE* out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ids;
static char the_domain;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void* create(const char* name) {
  pthread_mutex_lock(&lock);
  fprintf(out, "domain 0 %s\n", name);
  pthread_mutex_unlock(&lock);
  return &the_domain;
}

static void name_category(void* domain, uint32_t id, const char* name) {
  pthread_mutex_lock(&lock);
  fprintf(out, "category %u %s\n", domain == &the_domain ? id : 0, name);
  pthread_mutex_unlock(&lock);
}

static uint64_t start(void* domain, const attributes* a) {
  const long long at = now();
  pthread_mutex_lock(&lock);
  const uint64_t id = ids++;  // also 0
  const int good = domain == &the_domain && a->size == sizeof(*a) && a->message_type == 1 && a->payload_type == 1;
  fprintf(out, "start %llu %lld %u %llu %s\n", (unsigned long long)id, at, good ? a->category : 0,
          (unsigned long long)a->payload, good ? a->message : "?");
  pthread_mutex_unlock(&lock);
  return id;
}

static void end(void* domain, uint64_t id) {
  const long long at = now();
  pthread_mutex_lock(&lock);
  fprintf(out, "end %llu %lld\n", (unsigned long long)id, domain == &the_domain ? at : 0);
  pthread_mutex_unlock(&lock);
}

int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t)) {
  const callbacks* c = export_table(kCallbacks);
  const char* path = getenv("NVTX_TEST_RECORD");
  void** table = NULL;
  unsigned n = 0;
  if (c == NULL || path == NULL || !c->module_table(kCore2, &table, &n) || n <= kCreate) return 0;
  if ((out = fopen(path, "w")) == NULL) return 0;
  setvbuf(out, NULL, _IOLBF, 0);  // a Go program ends without flushing C's files
  *(void**)table[kRangeStart] = (void*)start;
  *(void**)table[kRangeEnd] = (void*)end;
  *(void**)table[kNameCategory] = (void*)name_category;
  *(void**)table[kCreate] = (void*)create;
  return 1;
}
