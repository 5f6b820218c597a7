// SPDX-License-Identifier: Apache-2.0
// An object cache on disk: virtual methods, templates, catch blocks that clean up.
/* flags: -D_FORTIFY_SOURCE=2 -pthread */
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

class Lock {
public:
	explicit Lock(pthread_mutex_t &m) : m_(m)
	{
		if (int rc = pthread_mutex_lock(&m_)) /* @pthread_mutex_lock all */
			throw std::runtime_error(std::strerror(rc));
	}
	~Lock()
	{
		pthread_mutex_unlock(&m_); /* @pthread_mutex_unlock none ignored */
	}

private:
	pthread_mutex_t &m_;
};

class Backend {
public:
	virtual ~Backend() = default;
	virtual bool put(const std::string &key, const void *data, std::size_t n) = 0;
	virtual long get(const std::string &key, void *data, std::size_t n) = 0;
};

class Disk : public Backend {
public:
	explicit Disk(std::string folder) : folder_(std::move(folder))
	{
		if (mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) /* @mkdir all */
			throw std::runtime_error("no folder");
	}

	bool put(const std::string &key, const void *data, std::size_t n) override
	{
		const std::string path = folder_ + '/' + key;
		int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600); /* @open all */

		if (fd == -1)
			return false;
		ssize_t done = write(fd, data, n); /* @write all */
		if (close(fd) < 0) { /* @close all */
			unlink(path.c_str()); /* @unlink none ignored */
			return false;
		}
		return done == static_cast<ssize_t>(n);
	}

	long get(const std::string &key, void *data, std::size_t n) override
	{
		const std::string path = folder_ + '/' + key;
		int fd = open(path.c_str(), O_RDONLY); /* @open none used */
		long k = read(fd, data, n); /* @read all */

		close(fd); /* @close none ignored */
		if (k < 0)
			throw std::runtime_error(path);
		return k;
	}

private:
	std::string folder_;
};

template <typename T> class Table {
public:
	explicit Table(std::size_t n)
	    : n_(n), items_(static_cast<T *>(mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) /* @mmap all */
	{
		if (items_ == MAP_FAILED)
			throw std::bad_alloc();
	}
	~Table()
	{
		munmap(items_, n_ * sizeof(T)); /* @munmap none ignored */
	}
	T &operator[](std::size_t i) { return items_[i % n_]; }

private:
	std::size_t n_;
	T *items_;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *refresh(void *arg)
{
	Backend *b = static_cast<Backend *>(arg);
	char *buffer = static_cast<char *>(malloc(512)); /* @malloc all */

	if (buffer == nullptr)
		return nullptr;
	try {
		Lock lock(mutex);
		long n = b->get("index", buffer, 512);
		if (!b->put("index.old", buffer, static_cast<std::size_t>(n)))
			throw std::runtime_error("index.old");
	} catch (...) {
		rename("index.old", "index"); /* @rename none ignored */
	}
	free(buffer);
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	Disk disk(argc > 1 ? argv[1] : "cache");
	Table<int> small(16);
	Table<double> large(1024);

	small[static_cast<std::size_t>(argc)] = 1;
	large[3] = small[0];
	if (pthread_create(&thread, nullptr, refresh, &disk)) /* @pthread_create all */
		return 1;
	if (!disk.put("small", &small[0], 64))
		return 1;
	pthread_join(thread, nullptr); /* @pthread_join none ignored */
	return large[3] > 0.5;
}
