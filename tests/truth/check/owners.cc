/* SPDX-License-Identifier: Apache-2.0 */
// RAII, exceptions and virtual methods around C functions
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

static volatile long sink;
static void *volatile keep;

[[noreturn]] static void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

class Fd {
public:
	Fd(const char *p, int fl) : fd_(open(p, fl)) /* @open all */
	{
		if (fd_ < 0)
			fail(p);
	}
	explicit Fd(int fd) : fd_(fd) {}
	Fd(const Fd &) = delete;
	~Fd() { close(fd_); } /* @close none ignored */
	int get() const { return fd_; }
	size_t read_some(void *b, size_t n)
	{
		ssize_t r = read(fd_, b, n); /* @read all */
		if (r == -1)
			fail("read");
		return r;
	}
	void write_all(const char *b, ssize_t n)
	{
		if (write(fd_, b, n) != n) /* @write all */
			throw std::runtime_error("short write");
	}
	void sync() { fdatasync(fd_); } /* @fdatasync none ignored */
private:
	int fd_;
};

class File {
public:
	explicit File(const char *p) : f_(fopen(p, "w")) {} /* @fopen all */
	~File()
	{
		if (f_)
			fclose(f_); /* @fclose none ignored */
	}
	explicit operator bool() const { return f_ != nullptr; }
	void line(const char *s) { fprintf(f_, "%s!%s\n", s, s); } /* @fprintf none ignored */
	bool flush() { return fflush(f_) == 0; } /* @fflush all */
private:
	FILE *f_;
};

class Blind {
public:
	explicit Blind(const char *p) : d_(opendir(p)) {} /* @opendir none used/dereferenced */
	~Blind() { closedir(d_); } /* @closedir none ignored */
	int count()
	{
		int n = 0;
		while (readdir(d_)) /* @readdir all */
			n++;
		return n;
	}
private:
	DIR *d_;
};

struct Source {
	virtual ~Source() = default;
	virtual long pull(char *b, size_t n) = 0;
	virtual int stop() = 0;
};

struct FdSource : Source {
	int fd;
	explicit FdSource(int f) : fd(f) {}
	long pull(char *b, size_t n) override { return read(fd, b, n); } /* @read all */
	int stop() override { return close(fd); } /* @close none used */
};

struct SockSource : Source {
	int fd;
	explicit SockSource(int f) : fd(f) {}
	long pull(char *b, size_t n) override { long r = recv(fd, b, n, 0); sink = sink + 1; return r; } /* @recv all */
	int stop() override { return shutdown(fd, SHUT_RD); } /* @shutdown none used */
};

__attribute__((noinline)) static long drain(Source &s)
{
	char b[64];
	long n, t = 0;
	while ((n = s.pull(b, sizeof b)) > 0)
		t += n;
	sink = s.stop();
	return t;
}

static void map(int fd, size_t n)
{
	void *p = mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0); /* @mmap all */
	if (p == MAP_FAILED)
		fail("mmap");
	keep = p;
	p = mmap(nullptr, n, PROT_WRITE, MAP_SHARED, fd, 0); /* @mmap none used */
	if (p == nullptr)
		fail("mmap");
	keep = p;
}

static bool make_dir(const std::string &s)
{
	if (mkdir(s.c_str(), 0755) == -1 && errno == ENOENT) return false; /* @mkdir some missing=EACCES */
	return true;
}

static bool make_dir_ok(const std::string &s)
{
	if (mkdir(s.c_str(), 0700) == -1 && errno != EEXIST) return false; /* @mkdir all */
	return true;
}

static void wipe(const std::string &s)
{
	unlink(s.c_str()); /* @unlink none ignored */
	if (rmdir(s.c_str()) != 0) { /* @rmdir some missing=EACCES */
		switch (errno) {
		case ENOTEMPTY:
		case EBUSY:
			throw std::runtime_error(s);
		case ENOENT:
			return;
		}
	}
	sink = sink + 1;
}

static int try_open(const char *p)
{
	int fd = open(p, O_RDONLY | O_NONBLOCK); /* @open some missing=EMFILE */
	if (fd < 0 && errno == ENOENT)
		throw std::runtime_error("gone");
	sink = fd;
	return 0;
}

static long size_of(const char *p)
{
	struct stat st;
	if (stat(p, &st)) /* @stat all */
		throw std::runtime_error("stat");
	return st.st_size;
}

static long size_blind(const char *p)
{
	struct stat st;
	st.st_size = 0;
	auto rc = lstat(p, &st); /* @lstat none used */
	if (rc == 1)
		throw std::runtime_error("lstat");
	return st.st_size;
}

static char *copy(const char *s)
{
	auto p = static_cast<char *>(malloc(strlen(s) + 2)); /* @malloc all */
	if (!p)
		throw std::bad_alloc();
	return strcpy(p, s);
}

static char *copy_blind(const char *s)
{
	char *p = strdup(s); /* @strdup none dereferenced/used */
	p[0] = 'c';
	return p;
}

static int number(const char *s)
{
	errno = 0;
	long v = strtol(s, nullptr, 0); /* @strtol all */
	if (errno != 0)
		fail("number");
	return v;
}

static int sock(int type)
{
	Fd s(socket(AF_INET, type, 0)); /* @socket none used */
	int one = 1;
	if (setsockopt(s.get(), SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one) > 0) /* @setsockopt none used */
		fail("keepalive");
	return s.get();
}

static int caught(const char *p)
{
	try {
		Fd f(p, O_RDWR);
		char b[16];
		f.write_all(p, strlen(p));
		f.sync();
		return f.read_some(b, sizeof b) ? b[0] : 0;
	} catch (const std::system_error &e) {
		return -e.code().value();
	} catch (...) {
		rename(p, "/dev/null"); /* @rename none ignored */
		return -1;
	}
}

static int report(const char *p)
{
	File f(p);
	if (!f) return 1;
	f.line(p);
	return f.flush() ? 0 : 2;
}

struct Guard {
	const char *p;
	~Guard() { if (truncate(p, 0) < 0) sink = errno; } /* @truncate all */
};

static int guarded(const char *p)
{
	Guard g{p};
	ssize_t n;
	do
		n = write(1, p, strlen(p)); /* @write some missing=ENOSPC */
	while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n * 2;
}

class Pipe {
public:
	Pipe()
	{
		if (pipe(p_) == -1) /* @pipe all */
			fail("pipe");
	}
	~Pipe() { close(p_[0]); close(p_[1]); } /* @close none ignored */
	void nonblock()
	{
		int fl = fcntl(p_[0], F_GETFL); /* @fcntl all */
		if (fl == -1 || fcntl(p_[0], F_SETFL, fl | O_NONBLOCK) == -1) /* @fcntl all */
			fail("fcntl");
	}
private:
	int p_[2];
};

class Process {
public:
	Process() : pid_(fork()) {} /* @fork all */
	bool started() const { return pid_ >= 0; }
	bool child() const { return pid_ == 0; }
	int join()
	{
		int st = 0;
		while (waitpid(pid_, &st, 0) == -1) /* @waitpid all */
			if (errno != EINTR) fail("waitpid");
		return st;
	}
private:
	pid_t pid_;
};

static int run(int n)
{
	Pipe io;
	io.nonblock();
	Process c;
	if (!c.started())
		throw std::runtime_error("fork");
	if (c.child())
		_exit(n);
	return c.join();
}

int main(int argc, char **argv)
{
	const char *p = argc > 1 ? argv[1] : argv[0];
	try {
		FdSource a(argc);
		SockSource b(argc + 1);
		Source *v[2] = { &a, &b };
		sink = drain(*v[argc & 1]) + drain(*v[~argc & 1]);
		map(argc, argc);
		if (!make_dir(p) || !make_dir_ok(p)) return 1;
		wipe(p);
		sink = run(argc) + try_open(p) + size_of(p) + size_blind(p) + number(p) + sock(argc) + caught(p) + report(p) + guarded(p);
		keep = copy(p);
		keep = copy_blind(p);
		Blind d(p);
		return d.count();
	} catch (const std::exception &e) {
		fputs(e.what(), stderr); /* @fputs none ignored */
		return 3;
	}
}
