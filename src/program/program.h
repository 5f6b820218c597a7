/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program and what it can be made to do: where it is, what it consists of, which code a person's names mean, and what
 * a scenario is compiled against.
 */
#pragma once

#include "base/base.h"
#include "image/image.h"
#include "profile/profile.h"
#include "scenario/scenario.h"
#include "wire/wire.h"

/* --- where it is (search_path.c) ---------------------------------------------------------------------------------- */

/*
 * The program that a shell would run for NAME: NAME itself if it has a slash, is a file here, or is not found in PATH;
 * else its path, in ARENA. NULL if there is no memory.
 */
const char *program_in_path(struct arena *arena, const char *name);

/* --- what is run (target.c) --------------------------------------------------------------------------------------- */

struct program_target {
  char *path;  /* of the program: an ELF file */
  char **argv; /* ends with NULL; of a script, as the kernel would make it for the interpreter */
  bool script;
};

/*
 * What execvp(3) would start for ARGV: looked for in PATH; of a script, its interpreter is the program, and behind
 * "#!/usr/bin/env NAME" that is NAME, since env is not what anybody wants to test.
 *
 * -ENOENT, -EACCES, -ENOEXEC with a message if it cannot be executed; -ECANCELED if the loader would not preload
 * anything into it: setuid, setgid, file capabilities, statically linked, not linked with glibc.
 */
int program_target_find(char *const *argv, struct program_target *ret, struct err *e) MUST_USE;
/* Of a program that is started by another one: why nothing of it can be intercepted; NULL if it can. */
const char *program_target_obstacle(const char *path);
void program_target_done(struct program_target *t);

/* --- what it consists of (program_modules.c, places.c) ------------------------------------------------------------ */

struct program_module {
  char *path; /* as the loader will name it */
  struct image *image;
  struct image_debug *debug; /* opened when first asked for */
  bool debug_tried;
  bool program; /* not a library */
};

/*
 * The program first, then its libraries in the order in which the loader searches them; then programs that it starts,
 * if they were added, each with those of its libraries that were not there before.
 */
struct program_modules {
  VEC(struct program_module) modules;
  VEC(const char *) functions; /* what any of them imports, sorted by name */
  const char *command;         /* the program's name as it was given: sh, whose file may be dash */
  bool asan;                   /* the sanitizer is libasan */
  const char *sanitizer;       /* path of a library that stands before functions of others, or NULL */
  const char *missing;         /* the first library that was not found, or NULL; lives in the arena */
  struct arena arena;
};

/* EXPORTS: `functions` also has what the libraries export, for programs that PROGRAM starts. */
int program_modules_load(const char *program, bool exports, struct program_modules *ret, struct err *e) MUST_USE;
/* One more program, which is run beside the first. -EEXIST if it is there. */
int program_modules_add(struct program_modules *m, const char *program, struct err *e) MUST_USE;
void program_modules_done(struct program_modules *m);

/* The first module that defines FUNCTION, or NULL. */
const struct program_module *program_modules_define(const struct program_modules *m, const char *function);
/* Its DWARF, or NULL. */
struct image_debug *program_module_debug(struct program_module *m);
/* R; E says that something is not there, and is told which file with debug information it may be in, if one is gone. */
int program_modules_lack(struct program_modules *m, int r, struct err *e);

/* Code as a person names it; what is NULL or 0 was not said. */
struct program_where {
  const char *module, *function, *file;
  unsigned line;
  const char *any; /* a module or a function */
};

typedef VEC(struct wire_place) program_places;

/* All code that WHERE means, pushed on *ret with the module's number. -ENOENT with a message if there is none. */
int program_modules_find(struct program_modules *m, const struct program_where *where, program_places *ret,
                         struct err *e) MUST_USE;
/*
 * The number of the module that NAME means: by path or the end of it, file name, soname, or these up to ".so". -ENOENT
 * if none.
 */
int program_modules_named(const struct program_modules *m, const char *name) MUST_USE;

/* --- what a scenario is compiled against (program_world.c) -------------------------------------------------------- */

struct program_world {
  struct scenario_world world;
  struct program_modules *modules;
  bool follow;
  void (*note)(const char *text);
  VEC(struct wire_module) wire;
  VEC(const char *) names;
  VEC(struct wire_row) rows;
  struct profile *profiles; /* what was found, then each file and what it makes of the profile so far */
  size_t n_profiles;
  /* Asked for again with each rule: where a function's versions begin in `versions`, and how many there are. */
  struct map asked;
  VEC(const char *) versions;
  size_t asked_modules; /* of so many */
};

struct program_world_request {
  const char *data;
  const char *const *profiles; /* files, put over what is found in the libraries */
  size_t n_profiles;
  bool follow; /* modules may also be of programs that the command starts */
  void (*progress)(void *context, size_t done, size_t total);
  void *context;
  void (*note)(const char *text); /* what is worth knowing about the scenario, for people; or NULL */
};

/* The profile of what S names, and the modules, for M, which must live as long. */
int program_world_make(const struct program_world_request *request, struct program_modules *m, const struct scenario *s,
                       struct program_world *ret, struct err *e) MUST_USE;
void program_world_done(struct program_world *w);

/* --- classes in shared objects (plugins.c) ------------------------------------------------------------------------ */

/* A class that a shared object has. */
struct program_plugin {
  const char *class, *file;
  const char *bad; /* why it cannot be used, or NULL */
};

struct program_plugins {
  VEC(const char *) folders; /* in the order of search */
  VEC(struct program_plugin) known;
  VEC(const char *) names;
  VEC(struct program_plugin) empty; /* what is called a shared object, and has no class; `bad` says why */
  size_t others;                    /* how many of `folders` are not murphy's own; what is in that is no mistake */
  bool looked;                      /* the folders have been read */
  struct arena arena;
};

/* DIR is one more folder, searched before those that come later. -ENOENT with a message if it is none. */
int program_plugins_add(struct program_plugins *p, const char *dir, struct err *e) MUST_USE;
/* Those of MURPHY_TRIGGERS, with colons between them, and the one that comes with murphy. */
int program_plugins_defaults(struct program_plugins *p, struct err *e) MUST_USE;
/* For scenario_set_plugins. P must live as long as the scenario. */
struct scenario_plugins program_plugins_for(struct program_plugins *p);
void program_plugins_done(struct program_plugins *p);
