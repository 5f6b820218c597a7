/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of C++: results that hold a value or an error, matches on them, destructors, exceptions. */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

namespace {

struct Outcome {
	bool good;
	long value;
	int error;
};

NOINLINE Outcome from_result(long rc)
{
	if (rc == -1)
		return {false, 0, errno};
	return {true, rc, 0};
}

inline Outcome pack(long rc)
{
	return rc < 0 ? Outcome{false, rc, errno} : Outcome{true, rc, 0};
}

[[noreturn]] NOINLINE void raise(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

inline int need(int rc, const char *what)
{
	if (rc < 0)
		raise(what);
	return rc;
}

class Descriptor {
public:
	explicit Descriptor(const char *path) : fd_(need(open(path, O_RDWR | O_CREAT, 0600), path)) {} /* @open all */
	Descriptor(const Descriptor &) = delete;
	~Descriptor()
	{
		if (fd_ >= 0)
			close(fd_); /* @close none ignored */
	}
	int get() const { return fd_; }

	NOINLINE void lock() { need(flock(fd_, LOCK_EX), "flock"); } /* @flock all */

	NOINLINE bool try_lock()
	{
		return flock(fd_, LOCK_EX | LOCK_NB) == 0; /* @flock all */
	}

	NOINLINE Outcome fill(char *to, size_t n)
	{
		return pack(read(fd_, to, n)); /* @read all */
	}

	NOINLINE Outcome place(off_t at)
	{
		return from_result(lseek(fd_, at, SEEK_SET)); /* @lseek all */
	}

	NOINLINE void sync() noexcept
	{
		fdatasync(fd_); /* @fdatasync none ignored */
	}

private:
	int fd_;
};

struct CloseFile {
	void operator()(FILE *f) const { fclose(f); } /* @fclose none ignored */
};
using File = std::unique_ptr<FILE, CloseFile>;

NOINLINE size_t count_lines(const char *path)
{
	File f(fopen(path, "r")); /* @fopen all */
	char line[256];
	size_t n = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof line, f.get())) /* @fgets all */
		n++;
	return n;
}

NOINLINE size_t count_entries(const std::string &folder)
{
	std::unique_ptr<DIR, int (*)(DIR *)> dir(opendir(folder.c_str()), closedir); /* @opendir none dereferenced/used */
	size_t n = 0;

	while (readdir(dir.get())) /* @readdir all */
		n++;
	return n;
} /* @closedir? none ignored/used */

NOINLINE char *duplicate(const char *text)
{
	char *copy = static_cast<char *>(std::malloc(std::strlen(text) + 1)); /* @malloc all */

	if (copy == nullptr)
		throw std::bad_alloc();
	return std::strcpy(copy, text);
}

/* As a match with an arm for each. */
NOINLINE int arms(Descriptor &d)
{
	char buffer[64];
	Outcome o = d.fill(buffer, sizeof buffer);

	if (!o.good) {
		switch (o.error) {
		case EINTR: return 1;
		case EAGAIN: return 2;
		default: return 3;
		}
	}
	return o.value == 0 ? 4 : 5;
}

NOINLINE bool make_folder(const char *path)
{
	try {
		need(mkdir(path, 0700), "mkdir"); /* @mkdir all */
		return true;
	} catch (const std::system_error &e) {
		return e.code().value() == EEXIST;
	}
}

template <typename F> inline auto again(F f) -> decltype(f())
{
	decltype(f()) rc;

	do
		rc = f();
	while (rc == -1 && errno == EINTR);
	return rc;
}

NOINLINE ssize_t put(int fd, const char *text, size_t n)
{
	return again([&] { return write(fd, text, n); }); /* @write all */
}

} // namespace

int main(int argc, char **argv)
{
	try {
		Descriptor d(argc > 1 ? argv[1] : "keeper.lock");

		if (!d.try_lock())
			d.lock();
		if (!d.place(10).good)
			return 2;
		d.sync();
		std::printf("%zu %zu\n", count_lines(argv[0]), count_entries(argv[1])); /* @printf none ignored */
		char *copy = duplicate(argv[0]);
		if (put(d.get(), copy, 1) != 1)
			return 3;
		std::free(copy);
		return make_folder("keeper.d") ? arms(d) : 4;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "keeper: %s\n", e.what()); /* @fprintf none ignored */
		return 1;
	}
}
