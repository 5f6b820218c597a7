// SPDX-License-Identifier: Apache-2.0
// Sessions with descriptors and streams as objects; failures become exceptions.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

class Descriptor {
public:
	explicit Descriptor(int fd) : fd_(fd)
	{
		if (fd_ < 0)
			fail("descriptor");
	}
	Descriptor(const Descriptor &) = delete;
	~Descriptor()
	{
		::close(fd_); /* @close none ignored */
	}
	int get() const { return fd_; }

	std::size_t read(void *buffer, std::size_t n)
	{
		ssize_t k;
		do
			k = ::read(fd_, buffer, n); /* @read all */
		while (k < 0 && errno == EINTR);
		if (k < 0)
			fail("read");
		return static_cast<std::size_t>(k);
	}

	void write(const std::string &text)
	{
		if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) /* @write all */
			fail("write");
	}

private:
	int fd_;
};

struct Closer {
	void operator()(FILE *f) const
	{
		std::fclose(f); /* @fclose none ignored */
	}
};

using Stream = std::unique_ptr<FILE, Closer>;

class Session {
public:
	explicit Session(const char *path) : file_(::open(path, O_RDWR | O_CREAT, 0600)), path_(path) /* @open all */
	{
		buffer_ = static_cast<char *>(std::malloc(4096)); /* @malloc all */
		if (!buffer_)
			throw std::bad_alloc();
	}
	~Session() { std::free(buffer_); }

	std::string load()
	{
		std::string text;
		while (std::size_t n = file_.read(buffer_, 4096))
			text.append(buffer_, n);
		return text;
	}

	off_t size() const
	{
		struct stat st;
		if (::fstat(file_.get(), &st) == -1) /* @fstat all */
			fail(path_.c_str());
		return st.st_size;
	}

	void reset()
	{
		if (::ftruncate(file_.get(), 0)) /* @ftruncate all */
			fail("ftruncate");
		::lseek(file_.get(), 0, SEEK_SET); /* @lseek none ignored */
	}

	void append(const std::string &text)
	{
		file_.write(text);
		::fsync(file_.get()); /* @fsync none ignored */
	}

private:
	Descriptor file_;
	std::string path_;
	char *buffer_ = nullptr;
};

std::vector<std::string> lines(const char *path)
{
	std::vector<std::string> all;
	char line[512];
	Stream f(std::fopen(path, "r")); /* @fopen all */

	if (!f)
		fail(path);
	while (std::fgets(line, sizeof line, f.get())) /* @fgets all */
		all.emplace_back(line);
	return all;
}

// A stream that is not there is read all the same.
std::size_t count(const char *path)
{
	FILE *f = std::fopen(path, "r"); /* @fopen none dereferenced */
	std::size_t n = 0;

	while (std::fgetc(f) != EOF) /* @fgetc all */
		n++;
	std::fclose(f); /* @fclose none ignored */
	return n;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	try {
		Session s(argv[1]);
		std::string text = s.load();
		if (s.size() > 1000000)
			s.reset();
		for (const std::string &line : lines(argv[2]))
			s.append(line);
		return static_cast<int>((text.size() + count(argv[2])) & 1);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "session: %s\n", e.what()); /* @fprintf none ignored */
		if (::unlink(argv[1]) != 0) /* @unlink all */
			std::perror(argv[1]);
		return 1;
	}
}
