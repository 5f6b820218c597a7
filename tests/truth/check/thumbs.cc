// SPDX-License-Identifier: Apache-2.0
// Makes thumbnails of PPM pictures: owners of C handles, exceptions with errno, a cache in a folder.
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace thumbs {

[[noreturn]] void throw_errno(const char *what, int error = errno)
{
	throw std::system_error(error, std::system_category(), what);
}

inline int ensure(int rc, const char *what)
{
	if (rc == -1)
		throw_errno(what);
	return rc;
}

struct StreamCloser {
	void operator()(FILE *f) const { std::fclose(f); } /* @fclose none ignored */
};
struct DirCloser {
	void operator()(DIR *d) const { ::closedir(d); } /* @closedir none ignored */
};
struct Freer {
	void operator()(void *p) const { std::free(p); }
};

using Stream = std::unique_ptr<FILE, StreamCloser>;
using Dir = std::unique_ptr<DIR, DirCloser>;
template <typename T> using Block = std::unique_ptr<T[], Freer>;

class FileDescriptor {
public:
	FileDescriptor() = default;
	FileDescriptor(const char *path, int flags, mode_t mode = 0) : fd_(::open(path, flags, mode)) /* @open all */
	{
		if (fd_ < 0)
			throw_errno(path);
	}
	FileDescriptor(FileDescriptor &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
	FileDescriptor &operator=(FileDescriptor &&o) noexcept
	{
		std::swap(fd_, o.fd_);
		return *this;
	}
	~FileDescriptor()
	{
		if (fd_ != -1)
			::close(fd_); /* @close none ignored */
	}
	operator int() const { return fd_; }
	// The one way to hear of it.
	void finish()
	{
		int fd = std::exchange(fd_, -1);

		if (::close(fd) != 0) /* @close all */
			throw_errno("close");
	}

private:
	int fd_ = -1;
};

struct Image {
	unsigned width = 0, height = 0;
	Block<uint8_t> data;
};

__attribute__((noinline)) Image load(const std::string &path)
{
	Stream f{std::fopen(path.c_str(), "rb")}; /* @fopen all */
	Image im;
	unsigned max;

	if (!f)
		throw_errno(path.c_str());
	if (std::fscanf(f.get(), "P6 %u %u %u", &im.width, &im.height, &max) != 3) /* @fscanf all */
		throw std::runtime_error(path + ": not a picture");
	if (std::fgetc(f.get()) == EOF) /* @fgetc/getc all */
		throw std::runtime_error(path + ": ends early");
	size_t n = size_t(im.width) * im.height * 3;
	im.data.reset(static_cast<uint8_t *>(std::malloc(n))); /* @malloc all */
	if (!im.data)
		throw std::bad_alloc();
	if (std::fread(im.data.get(), 3, n / 3, f.get()) < n / 3) /* @fread all */
		throw std::runtime_error(path + ": ends early");
	return im;
}

// The pixels are written to before anybody looks whether there are any.
__attribute__((noinline)) Image scale(const Image &from, unsigned by)
{
	Image to;

	to.width = from.width / by;
	to.height = from.height / by;
	to.data.reset(static_cast<uint8_t *>(std::malloc(size_t(to.width) * to.height * 3 + 1))); /* @malloc none dereferenced/used */
	uint8_t *p = to.data.get();
	for (unsigned y = 0; y < to.height; y++)
		for (unsigned x = 0; x < to.width; x++, p += 3)
			std::memcpy(p, from.data.get() + (size_t(y) * by * from.width + size_t(x) * by) * 3, 3);
	*p = 0;
	return to;
}

// All of it or an exception.
__attribute__((noinline)) void write_all(int fd, const void *data, size_t n)
{
	auto p = static_cast<const char *>(data);

	while (n > 0) {
		ssize_t w = ::write(fd, p, n); /* @write all */

		if (w == -1) {
			if (errno != EINTR)
				throw_errno("write");
			continue;
		}
		p += w;
		n -= size_t(w);
	}
}

class TempFile {
public:
	explicit TempFile(std::string folder) : path_(std::move(folder) + "/.thumbXXXXXX")
	{
		fd_ = ::mkstemp(path_.data()); /* @mkstemp all */
		if (fd_ < 0)
			throw_errno("mkstemp");
	}
	TempFile(const TempFile &) = delete;
	~TempFile()
	{
		if (fd_ >= 0) {
			::close(fd_); /* @close none ignored */
			::unlink(path_.c_str()); /* @unlink none ignored */
		}
	}
	int fd() const { return fd_; }
	void become(const std::string &name)
	{
		ensure(::fsync(fd_), "fsync"); /* @fsync all */
		ensure(::rename(path_.c_str(), name.c_str()), "rename"); /* @rename all */
		int fd = std::exchange(fd_, -1);
		if (::close(fd)) /* @close all */
			throw_errno("close");
	}

private:
	std::string path_;
	int fd_ = -1;
};

__attribute__((noinline)) void store(const Image &im, const std::string &folder, const std::string &name)
{
	TempFile t(folder);
	char head[64];
	int n = std::snprintf(head, sizeof head, "P6\n%u %u\n255\n", im.width, im.height); /* @snprintf all */

	if (n < 0)
		throw std::runtime_error("format");
	write_all(t.fd(), head, size_t(n));
	write_all(t.fd(), im.data.get(), size_t(im.width) * im.height * 3);
	ensure(::fchmod(t.fd(), 0644), "fchmod"); /* @fchmod all */
	t.become(folder + "/" + name);
}

__attribute__((noinline)) std::optional<time_t> changed(const std::string &path)
{
	struct stat st;

	if (::stat(path.c_str(), &st) != 0) /* @stat all */
		return std::nullopt;
	return st.st_mtime;
}

__attribute__((noinline)) std::vector<std::string> pictures(const char *folder)
{
	Dir d(::opendir(folder)); /* @opendir all */
	std::vector<std::string> names;

	if (!d)
		throw_errno(folder);
	while (auto *e = ::readdir(d.get())) { /* @readdir all */
		std::string_view v(e->d_name);

		if (v.size() > 4 && v.substr(v.size() - 4) == ".ppm")
			names.emplace_back(v);
	}
	return names;
}

// No folder, no list, no program: the constructor does not look, and neither does anybody else.
class Index {
public:
	explicit Index(const std::string &path) : out_(std::fopen(path.c_str(), "a")) {} /* @fopen none used/dereferenced */
	~Index() { std::fclose(out_); } /* @fclose none ignored */
	void add(const std::string &name, unsigned w, unsigned h)
	{
		std::fprintf(out_, "%s %u %u\n", name.c_str(), w, h); /* @fprintf none ignored */
	}

private:
	FILE *out_;
};

class View {
public:
	explicit View(const char *path)
	{
		FileDescriptor fd(path, O_RDONLY | O_CLOEXEC);
		struct stat st;

		ensure(::fstat(fd, &st), "fstat"); /* @fstat all */
		size_ = size_t(st.st_size);
		base_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap all */
		if (base_ == MAP_FAILED)
			throw_errno("mmap");
	}
	View(const View &) = delete;
	~View() { ::munmap(base_, size_); } /* @munmap none ignored */
	uint32_t sum() const
	{
		uint32_t s = 1;

		for (size_t i = 0; i < size_; i++)
			s = s * 31 + static_cast<const uint8_t *>(base_)[i];
		return s;
	}

private:
	size_t size_ = 0;
	void *base_ = nullptr;
};

__attribute__((noinline)) bool room_for(const char *folder, uint64_t bytes)
{
	struct statvfs fs;

	return ::statvfs(folder, &fs) == 0 && uint64_t(fs.f_bavail) * fs.f_frsize > bytes; /* @statvfs all */
}

// Only one reason is asked for.
__attribute__((noinline)) void make_cache(const std::string &path)
{
	if (::mkdir(path.c_str(), 0700) == -1 && errno == ENOSPC) /* @mkdir some missing=EACCES */
		throw_errno("mkdir", ENOSPC);
}

__attribute__((noinline)) std::string real(const char *path)
{
	std::unique_ptr<char, Freer> p(::realpath(path, nullptr)); /* @realpath all */

	if (p == nullptr)
		throw_errno(path);
	return p.get();
}

__attribute__((noinline)) void touch(const std::string &path) noexcept
{
	::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); /* @utimensat none ignored */
}

__attribute__((noinline)) void copy_sums(const char *to, const std::vector<uint32_t> &sums)
{
	FileDescriptor out(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (::posix_fallocate(out, 0, off_t(sums.size() * 4 + 1)) < 0) /* @posix_fallocate none used/ignored */
		throw_errno("posix_fallocate");
	write_all(out, sums.data(), sums.size() * sizeof sums[0]);
	out.finish();
}

} // namespace thumbs

int main(int argc, char **argv)
{
	using namespace thumbs;

	if (argc < 3)
		return 2;
	try {
		std::string from = real(argv[1]), cache = argv[2];
		std::vector<uint32_t> sums;

		make_cache(cache);
		if (!room_for(argv[2], 1 << 20))
			throw std::runtime_error("no room");
		Index index(cache + "/index");
		for (auto &name : pictures(from.c_str())) {
			auto source = changed(from + "/" + name), target = changed(cache + "/" + name);

			if (source && target && *source < *target) {
				touch(cache + "/" + name);
				continue;
			}
			Image small = scale(load(from + "/" + name), 8);
			store(small, cache, name);
			index.add(name, small.width, small.height);
			sums.push_back(View((cache + "/" + name).c_str()).sum());
		}
		copy_sums((cache + "/sums").c_str(), sums);
	} catch (const std::system_error &e) {
		std::fprintf(stderr, "thumbs: %s (%d)\n", e.what(), e.code().value()); /* @fprintf none ignored */
		return 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "thumbs: %s\n", e.what()); /* @fprintf none ignored */
		return 1;
	}
	if (std::puts("done") == EOF || std::fflush(stdout) != 0) /* @puts all; @fflush all */
		return 1;
	return 0;
}
