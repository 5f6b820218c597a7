// SPDX-License-Identifier: Apache-2.0
// A depot of files in C++: owners of handles, optional results, lambdas, exceptions that carry errno, visitors.
/* flags: -pthread */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace {

[[noreturn]] NOINLINE void raise_errno(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

// The usual wrapper: a negative result becomes an exception.
template <typename T> T check(T result, const char *what)
{
	if (result < 0)
		raise_errno(what);
	return result;
}

class Fd {
public:
	explicit Fd(int fd) noexcept : fd_(fd) {}
	Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	Fd(const Fd &) = delete;
	~Fd()
	{
		if (fd_ >= 0)
			::close(fd_); /* @close none ignored */
	}
	int get() const noexcept { return fd_; }
	explicit operator bool() const noexcept { return fd_ >= 0; }

private:
	int fd_;
};

struct FileCloser {
	void operator()(FILE *f) const noexcept { fclose(f); } /* @fclose none ignored */
};
using File = std::unique_ptr<FILE, FileCloser>;

NOINLINE Fd open_or_throw(const char *path)
{
	return Fd(check(::open(path, O_RDONLY), "open")); /* @open all */
}

NOINLINE std::optional<Fd> try_open(const char *path)
{
	int fd = ::open(path, O_RDWR); /* @open all */

	if (fd == -1)
		return std::nullopt;
	return Fd(fd);
}

NOINLINE size_t slurp(const char *path, std::vector<char> &to)
{
	File f(fopen(path, "rb")); /* @fopen all */

	if (!f)
		throw std::runtime_error("no file");
	to.resize(1024);
	return fread(to.data(), 1, to.size(), f.get()); /* @fread none used */
}

NOINLINE void spit(const char *path, const std::string &text)
{
	File f(fopen(path, "wb")); /* @fopen none dereferenced/used */

	fwrite(text.data(), 1, text.size(), f.get()); /* @fwrite none ignored */
}

// What a lambda returns is looked at by who calls it.
template <typename F> NOINLINE int retry(F f)
{
	int r;

	do
		r = f();
	while (r == -1 && errno == EINTR);
	return r;
}

NOINLINE void truncate_to(int fd, off_t n)
{
	if (retry([&] { return ::ftruncate(fd, n); }) != 0) /* @ftruncate all */
		raise_errno("ftruncate");
}

NOINLINE void sync_quietly(int fd)
{
	retry([&] { return ::fdatasync(fd); }); /* @fdatasync some missing=EIO */
}

class Mapping {
public:
	Mapping(int fd, size_t n) : size_(n), base_(::mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0)) /* @mmap all */
	{
		if (base_ == MAP_FAILED)
			raise_errno("mmap");
	}
	~Mapping() { ::munmap(base_, size_); } /* @munmap none ignored */
	char at(size_t i) const { return static_cast<const char *>(base_)[i]; }

private:
	size_t size_;
	void *base_;
};

class Sloppy {
public:
	Sloppy(int fd, size_t n) : base_(static_cast<char *>(::mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0))) {} /* @mmap none used/dereferenced */
	bool good() const { return base_ != nullptr; }
	char first() const { return base_[0]; }

private:
	char *base_;
};

struct Visitor {
	virtual ~Visitor() = default;
	virtual int visit(const char *path) = 0;
};

struct Remover : Visitor {
	int visit(const char *path) override { return ::unlink(path); } /* @unlink all */
};

struct Maker : Visitor {
	int visit(const char *path) override
	{
		return ::mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -1; /* @mkdir all */
	}
};

NOINLINE int each(Visitor &v, char **paths)
{
	int bad = 0;

	for (; *paths; paths++)
		if (v.visit(*paths) < 0)
			bad++;
	return bad;
}

NOINLINE std::string real(const char *path)
{
	std::unique_ptr<char, decltype(&free)> p(::realpath(path, nullptr), &free); /* @realpath all */

	return p ? std::string(p.get()) : std::string();
}

NOINLINE std::string link_of(const char *path)
{
	char buffer[256];
	auto n = ::readlink(path, buffer, sizeof buffer); /* @readlink any */

	return std::string(buffer, static_cast<size_t>(n));
}

NOINLINE std::pair<int, int> status(const char *path)
{
	struct stat st;
	int r = ::stat(path, &st); /* @stat all */

	return {r, r ? errno : 0};
}

NOINLINE bool exists(const char *path) noexcept
{
	try {
		auto [r, error] = status(path);
		return r == 0;
	} catch (...) {
		return false;
	}
}

NOINLINE char *scratch()
{
	static char name[] = "/tmp/depotXXXXXX";
	char *p = ::mkdtemp(name); /* @mkdtemp all */

	return p ? p : throw std::runtime_error("mkdtemp");
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<char> data;
	Remover remover;
	Maker maker;

	if (argc < 3)
		return 2;
	try {
		Fd fd = open_or_throw(argv[1]);
		size_t n = slurp(argv[1], data);
		spit(argv[2], std::string(data.data(), n));
		auto out = try_open(argv[2]);
		if (!out)
			return 1;
		truncate_to(out->get(), 10);
		sync_quietly(out->get());
		Mapping m(fd.get(), 4096);
		Sloppy s(fd.get(), 4096);
		if (!s.good())
			return 1;
		std::printf("%c%c %s %s\n", m.at(0), s.first(), real(argv[1]).c_str(), link_of(argv[1]).c_str()); /* @printf none ignored */
		if (each(maker, argv + 3) || each(remover, argv + 3))
			return 1;
		return exists(scratch()) ? 0 : 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what()); /* @fprintf none ignored */
		return 1;
	}
}
