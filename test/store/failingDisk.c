/*
 * Writes into the file FAILING_FILE fail with EIO while there is a file FAILING_WHAT, which holds one of the words of
 * failingDisk.ts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* LMDB's two meta pages. */
static const off_t meta_bytes = 8192;

static int fails(int fd, const char *kind) {
  const char *file = getenv("FAILING_FILE"), *control = getenv("FAILING_WHAT");
  if (file == NULL || control == NULL) return 0;
  int opened = open(control, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return 0;
  char what[8] = "", link[64], path[PATH_MAX];
  ssize_t length = read(opened, what, sizeof what - 1);
  close(opened);
  if (length <= 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (strcmp(path, file) != 0) return 0;
  if (strcmp(what, kind) != 0) return 0;
  errno = EIO;
  return 1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
  return offset < meta_bytes && fails(fd, "meta") ? -1 : real(fd, bytes, length, offset);
}

int fdatasync(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  return fails(fd, "sync") ? -1 : real(fd);
}
