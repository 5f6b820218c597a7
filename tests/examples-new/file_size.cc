/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_size with an error_code returns -1 if it fails, which is a large number.
 *
 * setup: echo 'a line' > letter
 * args: letter
 * expect: abort|crash
 */
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  std::error_code ec;
  auto size = std::filesystem::file_size(argv[1], ec);
#ifdef FIXED
  if (ec) {
    std::fprintf(stderr, "%s: %s\n", argv[1], ec.message().c_str());
    return 1;
  }
#endif
  std::string text(size, '\0');
  std::ifstream in(argv[1], std::ios::binary);
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    std::fprintf(stderr, "%s: cannot be read\n", argv[1]);
    return 1;
  }
  for (char &c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout)) {
    std::perror("standard output");
    return 1;
  }
  return 0;
}
