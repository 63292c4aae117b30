// Simulates a slow disk: fsync and fdatasync take SLOW_FSYNC_MS milliseconds longer. For LD_PRELOAD.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_for_the_disk(void) {
  const char *text = getenv("SLOW_FSYNC_MS");
  long milliseconds = text ? atol(text) : 0;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

int fsync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_for_the_disk();
  return real(fd);
}

int fdatasync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_for_the_disk();
  return real(fd);
}
