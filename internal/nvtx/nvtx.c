//go:build nvtx

// HOT PATH: nvtx_next runs about five times a sample, only in programs with the tag nvtx. No lock; it allocates a chunk
// for every 4,096 samples.

#include "nvtx.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

// What this program uses of NVTX's binary interface, which versions 2 and 3 share.
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

enum { kVersion = 2, kArgb = 1, kUnsigned64 = 1, kAscii = 1 };

_Static_assert(sizeof(attributes) == 48, "the size that NVTX's tools expect");

static void* (*create_domain)(const char*);
static void (*name_category)(void*, uint32_t, const char*);
static uint64_t (*start_range)(void*, const attributes*);
static void (*end_range)(void*, uint64_t);
static void* domain;
static atomic_bool opened;

static const struct {
  const char* name;
  uint32_t color;
} phases[NVTX_PHASES] = {
    [NVTX_ISSUE] = {"issue", 0xff9e9e9e},
    [NVTX_SEND] = {"send", 0xffe69f00},
    [NVTX_FIRST_TOKEN] = {"first token", 0xff0072b2},
    [NVTX_STREAM] = {"stream", 0xff56b4e9},
    [NVTX_ANSWER] = {"answer", 0xff0072b2},
    [NVTX_COMPLETE] = {"complete", 0xff009e73},
    [NVTX_FLUSH] = {"flush", 0xffcc79a7},
};

const char* nvtx_open(const char* library) {
  if (atomic_load(&opened)) return NULL;
  void* lib = dlopen(library, RTLD_NOW);
  if (lib == NULL) return dlerror();
  const struct {
    const char* name;
    void** to;
  } functions[] = {
      {"nvtxDomainCreateA", (void**)&create_domain},
      {"nvtxDomainNameCategoryA", (void**)&name_category},
      {"nvtxDomainRangeStartEx", (void**)&start_range},
      {"nvtxDomainRangeEnd", (void**)&end_range},
  };
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
    *functions[i].to = dlsym(lib, functions[i].name);
    if (*functions[i].to == NULL) return dlerror();
  }
  domain = create_domain("mlperf-go");
  for (uint32_t p = NVTX_ISSUE; p < NVTX_PHASES; p++) name_category(domain, p, phases[p].name);
  atomic_store(&opened, 1);
  return NULL;
}

static uint64_t start(int32_t phase, uint64_t payload, const char* message) {
  const attributes a = {
      .version = kVersion,
      .size = sizeof(a),
      .category = phase,
      .color_type = kArgb,
      .color = phases[phase].color,
      .payload_type = kUnsigned64,
      .payload = payload,
      .message_type = kAscii,
      .message = message,
  };
  return start_range(domain, &a);
}

// The open range of each sample, in chunks as in the ledger.
typedef struct {
  uint64_t id;
  int32_t phase;
} range;

enum { kChunkBits = 12, kChunk = 1 << kChunkBits, kChunks = 1 << 15 };

static _Atomic(range*) chunks[kChunks];
static atomic_llong outstanding;  // samples that were issued and have not ended
static atomic_bool flushing;      // flush_id is the range of an open flush
static uint64_t flush_id;

static range* find(uint64_t seq) {
  if (seq >> kChunkBits >= kChunks) return NULL;
  range* chunk = atomic_load(&chunks[seq >> kChunkBits]);
  return chunk == NULL ? NULL : &chunk[seq & (kChunk - 1)];
}

// Ends the flush if nothing is outstanding. Both who flushes and who ends the last sample ask, and one does it.
static void end_flush(void) {
  if (atomic_load(&outstanding) == 0 && atomic_exchange(&flushing, 0)) end_range(domain, flush_id);
}

static void begin(range* r, uint64_t seq, int32_t phase) {
  char message[40];
  snprintf(message, sizeof(message), "%s %llu", phases[phase].name, (unsigned long long)seq);
  r->id = start(phase, seq, message);
  r->phase = phase;
}

void nvtx_issue(uint64_t seq) {
  if (!atomic_load(&opened) || seq >> kChunkBits >= kChunks) return;
  if (find(seq) == NULL) {  // only LoadGen's thread gets here
    atomic_store(&chunks[seq >> kChunkBits], (range*)calloc(kChunk, sizeof(range)));
  }
  range* r = find(seq);
  if (r == NULL || r->phase != NVTX_END) return;
  atomic_fetch_add(&outstanding, 1);
  begin(r, seq, NVTX_ISSUE);
}

void nvtx_next(int64_t seq, int32_t phase) {
  if (!atomic_load(&opened) || seq < 0 || phase < 0 || phase >= NVTX_PHASES) return;
  range* r = find((uint64_t)seq);
  if (r == NULL || r->phase == NVTX_END) return;
  end_range(domain, r->id);
  if (phase != NVTX_END) {
    begin(r, (uint64_t)seq, phase);
    return;
  }
  r->phase = NVTX_END;
  atomic_fetch_sub(&outstanding, 1);
  end_flush();
}

void nvtx_flush(void) {
  if (!atomic_load(&opened)) return;
  flush_id = start(NVTX_FLUSH, 0, phases[NVTX_FLUSH].name);
  atomic_store(&flushing, 1);
  end_flush();
}
