/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for scenarios to be compiled against: functions with a profile, two modules, some code.
 */
#pragma once

#include "scenario/scenario.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MADE_ERRNO(name) "<side-effect errno=\"" name "\"/>"
#define MADE_ERROR(retval, ...) "<error-codes retval=\"" retval "\">" __VA_ARGS__ "</error-codes>"
#define MADE_FUNCTION(name, ...) "<function name=\"" name "\">" __VA_ARGS__ "</function>"

static const char made_profile[] =
    "<profile format=\"1\"><library name=\"libmade.so.1\">"
    /* Streams: what is behind them is not known. */
    "<function name=\"fread\" unknown=\"indirect call\">" MADE_ERROR(
        "0") "</function>"
             "<function name=\"puts\" unknown=\"indirect call\">" MADE_ERROR("-1") "</function>"
    /* Pointers and numbers, with errno. */
    MADE_FUNCTION("__open_2", MADE_ERROR("-1", MADE_ERRNO("ENOENT")))
        MADE_FUNCTION("close", MADE_ERROR("-1", MADE_ERRNO("EIO") MADE_ERRNO("EBADF")))
            MADE_FUNCTION("fopen", MADE_ERROR("0", MADE_ERRNO("ENOENT") MADE_ERRNO("EMFILE"))) MADE_FUNCTION(
                "malloc", MADE_ERROR("0", MADE_ERRNO("ENOMEM")))
                MADE_FUNCTION("mmap", MADE_ERROR("-1", MADE_ERRNO("ENOMEM"))) MADE_FUNCTION(
                    "open64",
                    MADE_ERROR("-1", MADE_ERRNO("ENOENT") MADE_ERRNO(
                                         "EACCES"))) "<function name=\"rmdir\"><error-codes retval=\"-1\" "
                                                     "errno-unknown=\"true\">" MADE_ERRNO(
                                                         "EIO") "</error-codes></"
                                                                "function>" MADE_FUNCTION(
                                                                    "read", MADE_ERROR("-1", MADE_ERRNO("EIO")
                                                                                                 MADE_ERRNO("EINTR")))
                                                                    MADE_FUNCTION(
                                                                        "write", MADE_ERROR("-1", MADE_ERRNO("ENOSPC")))
    /* Two values with the same errno: the one that means it. */
    MADE_FUNCTION("resolve", MADE_ERROR("-2", MADE_ERRNO("ENOMEM") MADE_ERRNO("ENOENT") MADE_ERRNO("EIO"))
                                 MADE_ERROR("-10", MADE_ERRNO("ENOMEM")))
    /* The error number itself; without a fact in the second, and with codes of its own in the third. */
    MADE_FUNCTION("posix_memalign", MADE_ERROR("12", MADE_ERRNO("EPERM") MADE_ERRNO("ENOMEM")) MADE_ERROR("22"))
        MADE_FUNCTION("made_lock", MADE_ERROR("16", MADE_ERRNO("EBUSY")) MADE_ERROR("22"))
            MADE_FUNCTION("made_code", MADE_ERROR("1") MADE_ERROR("7") MADE_ERROR("12"))
    /* The error number with a minus sign, and codes of its own again. */
    MADE_FUNCTION("made_negative", MADE_ERROR("-5") MADE_ERROR("-12") MADE_ERROR("-22"))
        MADE_FUNCTION("made_small", MADE_ERROR("-1") MADE_ERROR("-5"))
    /* A variable that is exported, one that is not, and what is behind an argument. */
    MADE_FUNCTION(
        "made_sides",
        MADE_ERROR(
            "-1", MADE_ERRNO("EIO") "<side-effect type=\"GLOBAL\" module=\"libmade.so.1\" name=\"made_error\" "
                                    "offset=\"0x40\" value=\"7\"/>"
                                    "<side-effect type=\"GLOBAL\" module=\"libmade.so.1\" offset=\"0x48\" value=\"8\"/>"
                                    "<side-effect type=\"ARG\" argument=\"2\" value=\"9\"/>")) "</library></profile>";

static const char *const made_functions[] = {"_Znwm",
                                             "__fread_chk",
                                             "__open_2",
                                             "close",
                                             "div",
                                             "dlsym",
                                             "exit",
                                             "feof",
                                             "fopen",
                                             "fsync",
                                             "getpwnam_r",
                                             "made_code",
                                             "made_lock",
                                             "made_negative",
                                             "made_sides",
                                             "made_small",
                                             "malloc",
                                             "mmap",
                                             "open64",
                                             "posix_memalign",
                                             "pthread_mutex_lock",
                                             "pthread_mutex_unlock",
                                             "puts",
                                             "read",
                                             "readv",
                                             "resolve",
                                             "rmdir",
                                             "sendmsg",
                                             "setjmp",
                                             "strtod",
                                             "write"};

static const char *const made_module_names[] = {"/opt/bft/bft-simple/simple-server", "/lib/libmade.so.1"};
static const struct wire_module made_modules[] = {{.name = 0, .flags = WIRE_PROGRAM}, {.name = 1}};

/* A whole path: tests change the folder. */
static const char *made_data(void) {
  static char path[4096];
  const char *data = getenv("MURPHY_DATA"), *source = getenv("MURPHY_SOURCE");
  if (data) return data;
  if (!path[0] && !source && !realpath("data", path)) fail_msg("there is no folder of data here");
  if (!path[0]) (void)snprintf(path, sizeof path, "%s/data", source);
  return path;
}

static bool made_is(const char *name, const char *want) { return name && strcmp(name, want) == 0; }

/* The program has a function main and a file main.c; offsets are one byte. */
static int made_places(void *context, const struct scenario_frame *f, struct scenario_places *ret, struct err *e) {
  (void)context;
  struct wire_place place = {.start = 0x100, .end = 0x200};
  const char *slash = f->module ? strrchr(f->module, '/') : NULL, *module = slash ? slash + 1 : f->module;
  if (made_is(f->any, "libc.so.6")) place.module = 1;
  if (module && !made_is(module, "simple-server") && !made_is(module, "libmade.so.1"))
    return err_set(e, -ENOENT, "no module %s", module);
  if (made_is(module, "libmade.so.1") || made_is(f->any, "libmade.so.1")) place.module = 1;
  if (f->has_offset) {
    place.start = f->offset;
    place.end = f->offset + 1;
  } else if (made_is(f->any, "libmade.so.1") || made_is(f->any, "libc.so.6") ||
             (f->module && !f->function && !f->file)) {
    place.flags = WIRE_ANYWHERE;
  } else if (made_is(f->file, "main.c")) {
    place.start = 0x1000 + f->line;
    place.end = place.start + 4;
  } else if (!made_is(f->any, "main") && !made_is(f->function, "main")) {
    return err_set(e, -ENOENT, "no function or module %s", f->any ? f->any : f->function ? f->function : f->file);
  }
  return vec_push(&ret->places, place);
}

/* What is at 0x8054a69 calls fopen. */
static bool made_calls(void *context, const struct wire_place *place, const char *function) {
  (void)context;
  return place->start == 0x8054a69 && made_is(function, "fopen");
}

/* In main there are two calls of pthread_mutex_unlock, and one of close two lines behind the first. */
static int made_sites(void *context, const char *function, struct scenario_sites *ret, struct err *e) {
  static const struct {
    const char *function;
    unsigned line;
  } sites[] = {{"pthread_mutex_unlock", 10}, {"close", 12}, {"pthread_mutex_unlock", 20}};
  (void)context, (void)e;
  for (unsigned i = 0; i < COUNT(sites); i++) {
    struct scenario_site s = {.lines = {{.file = "main.c", .in = "main", .line = sites[i].line}}, .n_lines = 1};
    s.place = (struct wire_place){.start = 0x100 + 16 * i, .end = 0x105 + 16 * i};
    if (made_is(function, sites[i].function) && vec_push(&ret->sites, s) < 0) return -ENOMEM;
  }
  return 0;
}

static bool made_defined(void *context, const char *name) {
  (void)context;
  return strcmp(name, "reed") != 0 && strcmp(name, "plugin_start") != 0 && strcmp(name, "frob") != 0;
}

static void made_note(void *context, const char *text) {
  struct text *notes = context;
  if (notes) text_addf(notes, "%s%s", notes->n ? "; " : "", text);
}

/* There is a hub at 127.0.0.1:7, and one class in a shared object. */
static int made_hub(void *context, const char *address, struct wire_trigger *ret, const char **ret_name,
                    struct err *e) {
  (void)context;
  if (address && strcmp(address, "tcp:127.0.0.1:7") != 0)
    return err_set(e, -ECANCELED, "no hub answers at %s", address);
  ret->n_address = 16;
  *ret_name = "tcp:127.0.0.1:7";
  return 0;
}

static int made_plugin(void *context, const char *class, const char **ret_file, struct err *e) {
  (void)context;
  if (strcmp(class, "Broken") == 0) return err_set(e, -EINVAL, "it is of another version");
  if (strcmp(class, "OwnTrigger") != 0) return -ENOENT;
  *ret_file = "/own.so";
  return 0;
}

static size_t made_plugin_list(void *context, const char *const **ret) {
  static const char *const names[] = {"OwnTrigger", "Broken"};
  (void)context;
  *ret = names;
  return COUNT(names);
}

static const struct scenario_plugins made_plugins = {.find = made_plugin, .list = made_plugin_list};

/* Compiles S into *ret; the result of plan_compile. NOTES may be NULL. */
static inline int made_compile_with(const struct scenario *s, uint64_t seed, uint32_t flags, struct text *notes,
                                    struct text *ret, struct err *e) {
  struct profile profile;
  struct err bad = {0};
  if (profile_parse("made", made_profile, sizeof made_profile - 1, &profile, &bad) < 0) fail_msg("%s", bad.text);
  struct scenario_world world = {
      .profile = &profile,
      .data = made_data(),
      .functions = made_functions,
      .n_functions = COUNT(made_functions),
      .modules = made_modules,
      .module_names = made_module_names,
      .n_modules = COUNT(made_modules),
      .places = made_places,
      .calls = made_calls,
      .call_sites = made_sites,
      .defined = made_defined,
      .note = made_note,
      .context = notes,
      .area = "/area",
      .preload = "/shim.so",
      .seed = seed,
      .flags = flags,
      .hub = made_hub,
  };
  int r = plan_compile(s, &world, ret, e);
  profile_done(&profile);
  return r;
}

static inline int made_compile(const struct scenario *s, uint64_t seed, struct text *notes, struct text *ret,
                               struct err *e) {
  return made_compile_with(s, seed, 0, notes, ret, e);
}
