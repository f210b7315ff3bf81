#include "csimdjson.h"

#include <cstring>
#include <memory>
#include <new>
#include <simdjson.h>

// A parser and the padded copy of its input: simdjson reads up to SIMDJSON_PADDING bytes past the end.
struct cb_json_parser {
  simdjson::dom::parser parser;
  std::unique_ptr<uint8_t[]> buffer;
  size_t capacity = 0;
};

extern "C" cb_json_parser *cb_json_parser_new(void) { return new (std::nothrow) cb_json_parser(); }

extern "C" void cb_json_parser_free(cb_json_parser *parser) { delete parser; }

extern "C" int cb_json_parse(
    cb_json_parser *p, const uint8_t *bytes, size_t length, const uint64_t **tape, size_t *tape_length,
    const uint8_t **strings) {
  const size_t need = length + simdjson::SIMDJSON_PADDING;
  if (p->capacity < need) {
    p->buffer.reset(new (std::nothrow) uint8_t[need * 2]);
    if (!p->buffer) {
      p->capacity = 0;
      return simdjson::MEMALLOC;
    }
    p->capacity = need * 2;
  }
  if (length > 0) std::memcpy(p->buffer.get(), bytes, length);
  std::memset(p->buffer.get() + length, 0, simdjson::SIMDJSON_PADDING);
  const auto error = p->parser.parse(p->buffer.get(), length, false).error();
  if (error) return error;
  const auto &doc = p->parser.doc;
  *tape = doc.tape.get();
  // The root word's payload is the index just past the last word.
  *tape_length = static_cast<size_t>(doc.tape[0] & 0x00FFFFFFFFFFFFFFULL) + 1;
  *strings = doc.string_buf.get();
  return 0;
}

extern "C" const char *cb_json_error_message(int code) {
  return simdjson::error_message(static_cast<simdjson::error_code>(code));
}
