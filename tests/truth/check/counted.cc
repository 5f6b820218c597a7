/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual functions at places of the table that the C++ library's own objects have as well: those that count for
 * std::shared_ptr, and those that return strings.
 */
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

namespace {

class Log {
public:
  virtual ~Log() = default;
  virtual int sync() = 0;
  virtual int drop(const char *) = 0;
  virtual FILE *stream(const char *) = 0;
};

class Plain : public Log {
  int fd_;

public:
  explicit Plain(int fd) : fd_(fd) {}
  int sync() override { return fdatasync(fd_); }                     /* @fdatasync all */
  int drop(const char *path) override { return unlink(path); }       /* @unlink none ignored/returned */
  FILE *stream(const char *path) override { return fopen(path, "r"); } /* @fopen all */
};

class Folder : public Log {
public:
  int sync() override { return fsync(STDOUT_FILENO); }               /* @fsync all */
  int drop(const char *path) override { return rmdir(path); }        /* @rmdir none ignored/returned */
  FILE *stream(const char *path) override { return fopen(path, "w"); } /* @fopen all */
};

NOINLINE int use(Log &log, const char *path)
{
  if (log.sync() < 0)
    return 1;
  log.drop(path);
  FILE *f = log.stream(path);
  if (!f)
    return 2;
  fclose(f); /* @fclose none ignored */
  return 0;
}

/* A class of its own, whose functions have the same places, and whose callers do not ask. */
struct Lock {
  int users = 1, waiting = 1;
  virtual ~Lock() = default;
  virtual int take(const char *) { return ++users; }
  virtual int leave(const char *path) { return access(path, R_OK); } /* @access none ignored/returned */
};

NOINLINE void share(const char *path)
{
  std::shared_ptr<FILE> file(fopen(path, "r"), [](FILE *f) { if (f) fclose(f); }); /* @fopen all; @fclose none ignored */
  std::shared_ptr<FILE> other = file;
  if (!other)
    std::puts("nothing"); /* @puts none ignored */
}

NOINLINE size_t say(const std::error_code &code) { return code.message().size(); }

} // namespace

int main(int argc, char **argv)
{
  if (argc < 2)
    return 2;
  Plain plain(1);
  Folder folder;
  Lock lock, *l = argc > 3 ? new Lock : &lock;
  Log *log = argc > 2 ? static_cast<Log *>(&plain) : &folder;
  share(argv[1]);
  l->leave(argv[1]);
  return use(*log, argv[1]) + static_cast<int>(say(std::error_code(argc, std::system_category())));
}
