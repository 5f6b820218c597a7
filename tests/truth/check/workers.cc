// SPDX-License-Identifier: Apache-2.0
// A pool in C++: new without exceptions, guards, shared state, results as pairs, templates over functions.
/* flags: -pthread */
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <memory>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace pool {

class Error : public std::runtime_error {
public:
	Error(const char *what, int code) : std::runtime_error(what), code_(code) {}
	int code() const { return code_; }

private:
	int code_;
};

#define SYSCALL(expression) pool::require((expression), #expression)

template <class T> NOINLINE T require(T value, const char *text)
{
	if (value == T(-1))
		throw Error(text, errno);
	return value;
}

class Mutex {
public:
	Mutex()
	{
		int r = pthread_mutex_init(&m_, nullptr); /* @pthread_mutex_init any */
		if (r)
			throw Error("mutex", r);
	}
	~Mutex() { pthread_mutex_destroy(&m_); } /* @pthread_mutex_destroy any */
	void lock()
	{
		if (int r = pthread_mutex_lock(&m_)) /* @pthread_mutex_lock all */
			throw Error("lock", r);
	}
	void unlock() { pthread_mutex_unlock(&m_); } /* @pthread_mutex_unlock none ignored */

private:
	pthread_mutex_t m_;
};

class Guard {
public:
	explicit Guard(Mutex &m) : m_(m) { m_.lock(); }
	~Guard() { m_.unlock(); }

private:
	Mutex &m_;
};

class Buffer {
public:
	explicit Buffer(size_t n) : data_(static_cast<char *>(malloc(n))), size_(data_ ? n : 0) {} /* @malloc all */
	~Buffer() { free(data_); }
	bool valid() const { return data_ != nullptr; }
	char *data() { return data_; }
	size_t size() const { return size_; }

private:
	char *data_;
	size_t size_;
};

class Epoll {
public:
	Epoll() : fd_(SYSCALL(epoll_create1(EPOLL_CLOEXEC))) {} /* @epoll_create1 all */
	~Epoll() { close(fd_); } /* @close none ignored */
	void add(int fd)
	{
		epoll_event e{};
		e.events = EPOLLIN;
		e.data.fd = fd;
		SYSCALL(epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &e)); /* @epoll_ctl all */
	}
	void remove(int fd) noexcept { epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr); } /* @epoll_ctl none ignored */
	template <class F> int wait(F f)
	{
		std::array<epoll_event, 4> events;
		int n = epoll_wait(fd_, events.data(), 4, 1000); /* @epoll_wait all */
		if (n < 0)
			return errno == EINTR ? 0 : -1;
		for (int i = 0; i < n; i++)
			f(events[i].data.fd);
		return n;
	}

private:
	int fd_;
};

class Directory {
public:
	explicit Directory(const std::string &path) : d_(opendir(path.c_str())) /* @opendir all */
	{
		if (d_ == nullptr)
			throw Error("opendir", errno);
	}
	~Directory() { closedir(d_); } /* @closedir none ignored */
	const char *next()
	{
		dirent *e = readdir(d_); /* @readdir all */
		return e ? e->d_name : nullptr;
	}

private:
	DIR *d_;
};

NOINLINE std::pair<ssize_t, int> read_pair(int fd, Buffer &b)
{
	ssize_t n = read(fd, b.data(), b.size()); /* @read all */

	return n < 0 ? std::make_pair(n, errno) : std::make_pair(n, 0);
}

NOINLINE bool write_all(int fd, std::string_view s)
{
	while (!s.empty()) {
		auto n = write(fd, s.data(), s.size()); /* @write all */
		if (n == -1)
			return false;
		s.remove_prefix(static_cast<size_t>(n));
	}
	return true;
}

NOINLINE int timer(unsigned ms)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); /* @timerfd_create none used */
	itimerspec t{};

	t.it_value.tv_nsec = ms * 1000000L;
	timerfd_settime(fd, 0, &t, nullptr); /* @timerfd_settime none ignored */
	return fd + 0;
}

struct Table {
	std::map<std::string, int> entries;
	NOINLINE void load(const char *path)
	{
		int fd = open(path, O_RDONLY); /* @open none used */
		entries[path] = fd;
	}
	NOINLINE bool load_well(const char *path)
	{
		int fd = open(path, O_RDWR); /* @open all */
		if (fd >= 0)
			entries[path] = fd;
		return fd >= 0;
	}
};

NOINLINE char *duplicate(const char *s)
{
	char *p = strdup(s); /* @strdup all */

	if (!p)
		throw std::bad_alloc();
	return p;
}

NOINLINE size_t length_of(const char *s)
{
	char *p = strndup(s, 10); /* @strndup any */
	size_t n = std::string(p).size();

	free(p);
	return n;
}

NOINLINE mode_t mode_of(const char *path)
{
	struct stat st;

	assert(stat(path, &st) == 0); /* @stat all */
	return st.st_mode;
}

} // namespace pool

int main(int argc, char **argv)
{
	using namespace pool;
	static Mutex mutex; /* @__cxa_atexit any */
	Table table;

	if (argc < 3)
		return 2;
	try {
		Guard g(mutex);
		Buffer b(1000);
		if (!b.valid())
			return 1;
		Epoll e;
		e.add(0);
		if (e.wait([](int fd) { std::printf("%d\n", fd); }) < 0) /* @printf none ignored */
			return 1;
		e.remove(0);
		Directory d(argv[1]);
		while (const char *name = d.next())
			std::puts(name); /* @puts none ignored */
		auto [n, error] = read_pair(0, b);
		if (error)
			return 1;
		if (!write_all(1, std::string_view(b.data(), static_cast<size_t>(n))))
			return 1;
		table.load(argv[1]);
		if (!table.load_well(argv[2]))
			return 1;
		std::unique_ptr<char, void (*)(void *)> copy(duplicate(argv[1]), free);
		return static_cast<int>(length_of(copy.get()) + mode_of(argv[1])) + timer(10);
	} catch (const Error &e) {
		return e.code();
	}
}
