#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One reusable simdjson parser with its own padded input buffer. Not thread-safe: one owner, one thread at a time.
typedef struct cb_json_parser cb_json_parser;

cb_json_parser *cb_json_parser_new(void);
void cb_json_parser_free(cb_json_parser *parser);

/// Parses one complete JSON document. Returns 0, or a simdjson error code. On success `tape` and `strings` point into
/// the parser until the next parse; `tape_length` counts 64-bit words.
int cb_json_parse(
    cb_json_parser *parser, const uint8_t *bytes, size_t length, const uint64_t **tape, size_t *tape_length,
    const uint8_t **strings);

/// The words of a simdjson error code; static storage.
const char *cb_json_error_message(int code);

#ifdef __cplusplus
}
#endif
