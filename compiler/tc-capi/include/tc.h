/* The C interface of tc, a compiler of tensor programs. Made by `cargo xtask gen`; do not edit.
 *
 * Every call returns a TcStatus, and writes what it gives to where its last arguments point. Handles are numbers: what
 * is freed, made up or of another kind is refused. Structs begin with their size, which the caller sets. Strings are
 * UTF-8 with a length. docs/embedding.md shows a first program and tells which threads may do what. */

#ifndef TC_H
#define TC_H

#include <stddef.h>
#include <stdint.h>

// The version of this interface. It changes when a program that was made for the one before would no longer work.
#define TC_ABI_VERSION 1

// What a call came to. Codes from 3 to 14 say that the call was wrong: it had no effect, and all that it would have given
// is 0.
enum TcStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It went well.
  TC_STATUS_OK = 0,
  // The text or the pipeline is at fault; the diagnostics say why.
  TC_STATUS_FAILED = 1,
  // The compiler is at fault; the diagnostics say what to report.
  TC_STATUS_BUG = 2,
  // A pointer is null that must not be.
  TC_STATUS_NULL_ARGUMENT = 3,
  // A handle that this library never gave.
  TC_STATUS_BAD_HANDLE = 4,
  // A handle of something that was freed, itself or with its context.
  TC_STATUS_FREED_HANDLE = 5,
  // A handle of something of another kind.
  TC_STATUS_WRONG_KIND = 6,
  // `struct_size` is less than what the first version of the struct has, or absurd.
  TC_STATUS_BAD_STRUCT_SIZE = 7,
  // A field that this library does not know is set: the program was made for a newer one.
  TC_STATUS_UNKNOWN_FIELD = 8,
  // The program was made for another version of this interface.
  TC_STATUS_BAD_ABI_VERSION = 9,
  // A string is not UTF-8.
  TC_STATUS_NOT_UTF8 = 10,
  // A number is none of those that are allowed here, or a string no name that is known.
  TC_STATUS_BAD_VALUE = 11,
  // An index is past the end.
  TC_STATUS_OUT_OF_RANGE = 12,
  // Another thread is using the module.
  TC_STATUS_BUSY = 13,
  // A pipeline failed on this module: it can only be freed.
  TC_STATUS_SPOILED = 14,
  // A run was ended from outside, by its limit of steps or a request to cancel. The module is as it was before.
  TC_STATUS_ENDED = 15,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TcStatus TcStatus;
#else
typedef uint32_t TcStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What `tc_module_emit` makes.
enum TcEmit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // CUDA C++.
  TC_EMIT_CUDA = 0,
  // Text for `mlir-opt` 22.
  TC_EMIT_MLIR = 1,
  // PTX; `via` says how.
  TC_EMIT_PTX = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TcEmit TcEmit;
#else
typedef uint32_t TcEmit;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The way from a program to PTX.
enum TcVia
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // CUDA C++, and NVIDIA's run-time compiler, which must be installed.
  TC_VIA_CUDA = 0,
  // MLIR and LLVM, which the library must have been built with.
  TC_VIA_MLIR = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TcVia TcVia;
#else
typedef uint32_t TcVia;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How bad a diagnostic is.
enum TcSeverity
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Something worth knowing.
  TC_SEVERITY_REMARK = 0,
  // Probably not what was meant.
  TC_SEVERITY_WARNING = 1,
  // The call failed.
  TC_SEVERITY_ERROR = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TcSeverity TcSeverity;
#else
typedef uint32_t TcSeverity;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Who has to act on a diagnostic.
enum TcFault
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Whoever wrote the text.
  TC_FAULT_INPUT = 0,
  // Whoever wrote the pipeline.
  TC_FAULT_PASS_ASSUMPTION = 1,
  // Whoever wrote the compiler.
  TC_FAULT_BUG = 2,
  // Whoever wrote a pass that was added to the compiler.
  TC_FAULT_FOREIGN_PASS = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TcFault TcFault;
#else
typedef uint32_t TcFault;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A compiler with its settings. Any number of threads may use one at a time.
typedef struct {
  // A number; 0 stands for nothing.
  uint64_t id;
} TcContext;

// A request to cancel, which one thread makes and a run on another looks at.
typedef struct {
  // A number; 0 stands for nothing.
  uint64_t id;
} TcCancel;

// UTF-8 text of `size` bytes. It need not end in a 0.
typedef struct {
  // The first byte; may be null where `size` is 0.
  const char *data;
  // How many bytes there are.
  size_t size;
} TcString;

// How a context compiles. All 0, but for `struct_size`, stands for the defaults.
typedef struct {
  // `sizeof(TcContextOptions)`.
  size_t struct_size;
  // The GPU that is compiled for, such as `sm_90`; empty stands for `sm_80`.
  TcString target;
  // How many functions a pass runs on at a time, four a core at the most; 0 stands for as many as there are cores.
  uint32_t threads;
  // 1 to leave out checking the program after each pass, 0 not to.
  uint32_t no_verify;
  // 1 to leave sizes open that have a default, 0 not to.
  uint32_t symbolic;
  // 0.
  uint32_t reserved;
} TcContextOptions;

// Diagnostics of a call, in their order.
typedef struct {
  // A number; 0 stands for nothing.
  uint64_t id;
} TcDiagnostics;

// A place in a text; all 0 where there is none.
typedef struct {
  // The name that the text was given.
  TcString file;
  // The line, from 1.
  uint32_t line;
  // The column in characters, from 1.
  uint32_t column;
  // The line where it ends.
  uint32_t end_line;
  // The column behind its end.
  uint32_t end_column;
} TcPlace;

// One diagnostic. Its strings stay until the diagnostics are freed.
typedef struct {
  // `sizeof(TcDiagnostic)`.
  size_t struct_size;
  // One of `TcSeverity`.
  uint32_t severity;
  // One of `TcFault`.
  uint32_t fault;
  // A name of this kind of diagnostic that does not change, such as `unknown-name`.
  TcString code;
  // What is wrong, in one sentence.
  TcString message;
  // The help; empty where none is known.
  TcString help;
  // Where.
  TcPlace place;
  // How many other places belong to it.
  size_t n_labels;
  // How many further facts there are.
  size_t n_notes;
} TcDiagnostic;

// A second place that belongs to a diagnostic. Its strings stay until the diagnostics are freed.
typedef struct {
  // `sizeof(TcLabel)`.
  size_t struct_size;
  // What is to be seen there.
  TcString text;
  // The place.
  TcPlace place;
} TcLabel;

// A text that the library made.
typedef struct {
  // A number; 0 stands for nothing.
  uint64_t id;
} TcText;

// A program. One thread at a time may use it; a second one gets `TC_STATUS_BUSY`.
typedef struct {
  // A number; 0 stands for nothing.
  uint64_t id;
} TcModule;

// How a pipeline is run. All 0, but for `struct_size`, stands for the defaults.
typedef struct {
  // `sizeof(TcRunOptions)`.
  size_t struct_size;
  // The most edits that all passes may make together; 0 for no limit.
  uint64_t max_steps;
  // A request to cancel that the run looks at, or 0.
  TcCancel cancel;
  // Values for parameters of schedules and sizes of operators, `block=64 n=1000`.
  TcString defines;
} TcRunOptions;

// How a program is emitted. All 0, but for `struct_size`, stands for the defaults.
typedef struct {
  // `sizeof(TcEmitOptions)`.
  size_t struct_size;
  // One of `TcEmit`.
  uint32_t kind;
  // 1 to tell where each statement comes from, by `#line` in CUDA and by `loc` in MLIR, 0 not to; for PTX 0.
  uint32_t locations;
  // One of `TcVia`, for PTX; else 0.
  uint32_t via;
  // 0.
  uint32_t reserved;
} TcEmitOptions;

// What was emitted. Its texts are to be freed.
typedef struct {
  // `sizeof(TcEmitted)`.
  size_t struct_size;
  // The text of all kernels.
  TcText source;
  // How they are launched: a JSON array with a manifest for each program.
  TcText manifest;
} TcEmitted;

// A call of a pass of one's own. It is good until the function returns.
typedef struct {
  // A number; 0 stands for nothing.
  uint64_t id;
} TcPassCall;

// A pass of one's own: it is given the text of the module, and `tc_pass_give` takes the text that it becomes. It returns 0,
// or, if it failed, another number. It is called on threads of the library, for several modules at a time; nothing may be
// thrown out of it. `user` is that of `TcPassOptions`.
typedef int32_t (*TcPassFn)(TcPassCall call, TcString text, void *user);

// A pass of one's own.
typedef struct {
  // `sizeof(TcPassOptions)`.
  size_t struct_size;
  // Its name in pipelines: small letters, digits and `-`.
  TcString name;
  // What it does, in a sentence.
  TcString summary;
  // What it does.
  TcPassFn run;
  // Handed to `run`.
  void *user;
  // Called with `user` once nothing can call `run` any more; may be null.
  void (*drop_user)(void *user);
} TcPassOptions;

// What is asked of a search space. All 0, but for `struct_size`, stands for the defaults.
typedef struct {
  // `sizeof(TcSpaceOptions)`.
  size_t struct_size;
  // The schedule; may be empty where one schedule has parameters.
  TcString schedule;
  // Values for some parameters and sizes, `block=64 n=1000`.
  TcString defines;
  // How many points are judged, from the first on; 0 for 200000.
  uint64_t limit;
  // How many points are given at most; 0 for all that are valid.
  uint64_t n_points;
  // 1 to draw points all over the space, by `seed`, 0 to give the first ones. Drawing wants `n_points`.
  uint32_t is_sample;
  // 0.
  uint32_t reserved;
  // Chooses which points are drawn.
  uint64_t seed;
} TcSpaceOptions;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a request to cancel that was not made yet, to be handed to `tc_module_run_with`.
//
// What the caller sees to:
// `out` is null or points to a `TcCancel`.
TcStatus tc_cancel_create(TcContext context, TcCancel *out);

// Makes the request: runs that were given it, now or later, end soon with `TC_STATUS_ENDED`. Any thread may do so.
TcStatus tc_cancel_ask(TcCancel cancel);

// Frees `cancel`. Freeing 0 does nothing.
TcStatus tc_cancel_free(TcCancel cancel);

// The version of the interface that the library has: `TC_ABI_VERSION` of its header.
uint32_t tc_abi_version(void);

// The version of the compiler, such as `0.1.0`.
TcString tc_version(void);

// What a status says, in a few words; it ends in a 0 and stays.
const char *tc_status_name(uint32_t status);

// Makes a context. `abi_version` is `TC_ABI_VERSION`; `options` may be null. A target that is not known is
// `TC_STATUS_BAD_VALUE`.
//
// What the caller sees to:
// `options` is null or points to a `TcContextOptions`, `out` is null or points to a `TcContext`.
TcStatus tc_context_create(uint32_t abi_version, const TcContextOptions *options, TcContext *out);

// Frees `context` and all that was made with it: modules, diagnostics, texts. Freeing 0 does nothing.
TcStatus tc_context_free(TcContext context);

// Gives how many diagnostics there are.
//
// What the caller sees to:
// `out` is null or points to a `size_t`.
TcStatus tc_diagnostics_count(TcDiagnostics found, size_t *out);

// Gives diagnostic number `index`, from 0.
//
// What the caller sees to:
// `out` is null or points to a `TcDiagnostic` with its size.
TcStatus tc_diagnostics_get(TcDiagnostics found, size_t index, TcDiagnostic *out);

// Gives label number `label` of diagnostic number `index`.
//
// What the caller sees to:
// `out` is null or points to a `TcLabel` with its size.
TcStatus tc_diagnostics_label(TcDiagnostics found, size_t index, size_t label, TcLabel *out);

// Gives note number `note` of diagnostic number `index`. It stays until `found` is freed.
//
// What the caller sees to:
// `out` is null or points to a `TcString`.
TcStatus tc_diagnostics_note(TcDiagnostics found, size_t index, size_t note, TcString *out);

// Gives all diagnostics as text for people, with the lines that they point at.
//
// What the caller sees to:
// `out` is null or points to a `TcText`.
TcStatus tc_diagnostics_text(TcDiagnostics found, TcText *out);

// Gives all diagnostics as a JSON array.
//
// What the caller sees to:
// `out` is null or points to a `TcText`.
TcStatus tc_diagnostics_json(TcDiagnostics found, TcText *out);

// Frees `found`. Freeing 0 does nothing.
TcStatus tc_diagnostics_free(TcDiagnostics found);

// Reads `text`, which messages call `name`. `found`, which may be null, is given what was found.
//
// What the caller sees to:
// Strings are as they say, `out` is null or points to a `TcModule`, `found` to a `TcDiagnostics`.
TcStatus tc_module_parse(TcContext context,
                         TcString name,
                         TcString text,
                         TcModule *out,
                         TcDiagnostics *found);

// Makes a copy of `module`, so that several pipelines can be run on what it is now.
//
// What the caller sees to:
// `out` is null or points to a `TcModule`.
TcStatus tc_module_clone(TcModule module, TcModule *out);

// Runs the passes that `pipeline` names on `module`. A pipeline that cannot be read leaves the module as it is; where a
// pass fails the module can only be freed. `found`, which may be null, is given what was found.
//
// What the caller sees to:
// `pipeline` is as it says, `found` is null or points to a `TcDiagnostics`.
TcStatus tc_module_run(TcModule module,
                       TcString pipeline,
                       TcDiagnostics *found);

// The same, told how. A run that is ended, by its limit of steps or a request to cancel, is `TC_STATUS_ENDED` and leaves the
// module as it is. `options` and `found` may be null.
//
// What the caller sees to:
// `pipeline` is as it says, `options` is null or points to a `TcRunOptions` whose strings are as they say, `found` is null
// or points to a `TcDiagnostics`.
TcStatus tc_module_run_with(TcModule module,
                            TcString pipeline,
                            const TcRunOptions *options,
                            TcDiagnostics *found);

// Gives the text of `module`.
//
// What the caller sees to:
// `out` is null or points to a `TcText`.
TcStatus tc_module_print(TcModule module, TcText *out);

// Writes the kernels of `module`, which went through the pipeline `cuda`, and how they are launched. `options` and
// `found` may be null.
//
// What the caller sees to:
// `options` is null or points to a `TcEmitOptions`, `out` to a `TcEmitted` with its size, `found` to a `TcDiagnostics`.
TcStatus tc_module_emit(TcModule module,
                        const TcEmitOptions *options,
                        TcEmitted *out,
                        TcDiagnostics *found);

// Frees `module`. Freeing 0 does nothing.
TcStatus tc_module_free(TcModule module);

// Adds a pass of the caller's own to `context`, for modules that are made in it from now on. A name that is none, or is
// that of another pass, is `TC_STATUS_BAD_VALUE`. Where the call fails, `drop_user` is not called.
//
// What the caller sees to:
// `options` is null or points to a `TcPassOptions` whose strings are as they say; `run` and `drop_user` may be called on
// any thread.
TcStatus tc_context_add_pass(TcContext context,
                             const TcPassOptions *options);

// Puts passes, a piece of a pipeline such as `mine` or `tir.func(cse)`, at a place of a named pipeline, for modules that
// are made in `context` from now on. docs/passes.md lists the places. A pipeline or a place that there is not is
// `TC_STATUS_BAD_VALUE`.
//
// What the caller sees to:
// Strings are as they say.
TcStatus tc_context_add_passes_at(TcContext context,
                                  TcString pipeline,
                                  TcString place,
                                  TcString passes);

// Gives the text that the module becomes; of several texts the last one counts. Where none is given, the module stays as
// it is.
//
// What the caller sees to:
// `text` is as it says.
TcStatus tc_pass_give(TcPassCall pass_call,
                      TcString text);

// Reports a diagnostic at `size` bytes of the text that the pass was given, from byte `at` on. `severity` is one of
// `TcSeverity`; an error fails the pass. `help` may be empty.
//
// What the caller sees to:
// Strings are as they say.
TcStatus tc_pass_report(TcPassCall pass_call,
                        uint32_t severity,
                        TcString message,
                        TcString help,
                        size_t at,
                        size_t size);

// Tells what the space of a schedule holds, as a JSON object: parameters, the number of points, how many of those judged
// the target allows, and why it does not allow the others. docs/tc-opt.md has the fields. `options` and `found` may be
// null.
//
// What the caller sees to:
// `options` is null or points to a `TcSpaceOptions` whose strings are as they say, `out` is null or points to a `TcText`,
// `found` to a `TcDiagnostics`.
TcStatus tc_module_space(TcModule module,
                         const TcSpaceOptions *options,
                         TcText *out,
                         TcDiagnostics *found);

// Gives valid points of the space of a schedule, one a line, as `schedule{param="..."}` and `TcRunOptions` read them.
// `options` and `found` may be null.
//
// What the caller sees to:
// As of `tc_module_space`.
TcStatus tc_module_points(TcModule module,
                          const TcSpaceOptions *options,
                          TcText *out,
                          TcDiagnostics *found);

// Gives the bytes of `text`, which stay where they are until `text` or its context is freed.
//
// What the caller sees to:
// `out` is null or points to a `TcString`.
TcStatus tc_text_get(TcText text, TcString *out);

// Frees `text`. Freeing 0 does nothing.
TcStatus tc_text_free(TcText text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TC_H */
