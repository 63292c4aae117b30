// A disk and a clock that fail on command, for LD_PRELOAD. For the files of the directory TRIAL_DIR, known by their
// path when they are opened and kept by descriptor and inode: every write, truncation, change of names or modes, and the
// beginning and end of every sync go to the append-only log TRIAL_LOG, of all processes, under one lock and with the time
// of CLOCK_MONOTONIC; calls fail or wait as the words of the file TRIAL_CONTROL say. -shm files are mapped, so they are
// left out. disk.ts has the other side of the log and of the control file.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>


enum type { OPEN = 1, WRITE, TRUNCATE, UNLINK, RENAME, MODE, SYNC_BEGIN, SYNC_END };
enum kind { NONE = 0, FILE_OF_DATA, WAL, DIRECTORY };

// The words of the control file, in the order of disk.ts. 64 bits each.
struct control {
  _Atomic int64_t frozen;       // nothing is done while it is 1
  _Atomic int64_t swallow;      // 1: syncs do nothing, are not logged, and succeed
  _Atomic int64_t fail_wal;     // the n-th sync of a WAL from now fails with EIO, once
  _Atomic int64_t hang;         // 1: syncs wait
  _Atomic int64_t sync_errno;   // what all syncs, writes, reads and openings for writing fail with; 0: they do not
  _Atomic int64_t write_errno;
  _Atomic int64_t read_errno;
  _Atomic int64_t open_errno;
  _Atomic int64_t clock_offset; // of CLOCK_REALTIME, in nanoseconds
};

struct record {
  uint32_t type;
  uint32_t length;
  uint64_t time;
  uint64_t inode;
  int64_t offset;
  int64_t value;
};

struct tracked {
  enum kind kind;
  ino_t inode;
  dev_t device;
};

#define DESCRIPTORS 65536
static struct tracked tracked[DESCRIPTORS];
static const char *directory;
static size_t directory_length;
static int log_fd = -1;
static struct control none;
static struct control *control = &none;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int64_t syncs;

static int (*real_open)(const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);
static int (*real_fchmod)(int, mode_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);

__attribute__((constructor)) static void start(void) {
  if (real_open) return;
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_writev = dlsym(RTLD_NEXT, "writev");
  real_pwritev = dlsym(RTLD_NEXT, "pwritev64");
  real_read = dlsym(RTLD_NEXT, "read");
  real_pread = dlsym(RTLD_NEXT, "pread64");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_rename = dlsym(RTLD_NEXT, "rename");
  real_fchmod = dlsym(RTLD_NEXT, "fchmod");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_gettimeofday = dlsym(RTLD_NEXT, "gettimeofday");
  real_open = dlsym(RTLD_NEXT, "open64");
  directory = getenv("TRIAL_DIR");
  directory_length = directory ? strlen(directory) : 0;
  const char *log = getenv("TRIAL_LOG");
  if (log) log_fd = real_open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const char *file = getenv("TRIAL_CONTROL");
  int fd = file ? real_open(file, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) control = mapped;
  close(fd);
}

// Of several processes and threads one at a time does something and logs it. Killed between the two the log would be
// wrong, so before a kill the trial freezes all of them here.
static void lock(void) {
  while (control->frozen) usleep(100);
  pthread_mutex_lock(&mutex);
  if (log_fd >= 0) flock(log_fd, LOCK_EX);
}

static void unlock(void) {
  int saved = errno;
  if (log_fd >= 0) flock(log_fd, LOCK_UN);
  pthread_mutex_unlock(&mutex);
  errno = saved;
}

static void append(enum type type, ino_t inode, int64_t offset, int64_t value, const void *bytes, size_t length) {
  if (log_fd < 0) return;
  int saved = errno;
  struct timespec now;
  real_clock_gettime(CLOCK_MONOTONIC, &now);
  struct record record = {type, length, now.tv_sec * 1000000000ULL + now.tv_nsec, inode, offset, value};
  struct iovec parts[2] = {{&record, sizeof record}, {(void *)bytes, length}};
  if (real_writev(log_fd, parts, length ? 2 : 1) != (ssize_t)(sizeof record + length)) abort();
  errno = saved;
}

// The part of a path behind the directory: the empty text for itself, NULL for other files.
static const char *name_in_directory(const char *path) {
  if (!directory_length || strncmp(path, directory, directory_length) != 0) return NULL;
  if (path[directory_length] == 0) return "";
  return path[directory_length] == '/' ? path + directory_length + 1 : NULL;
}

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), other = strlen(end);
  return length >= other && strcmp(text + length - other, end) == 0;
}

// Descriptors that were closed without our notice stand for something else now.
static struct tracked *find(int fd) {
  if (fd < 0 || fd >= DESCRIPTORS || !tracked[fd].kind) return NULL;
  struct stat stat;
  int saved = errno;
  int same = fstat(fd, &stat) == 0 && stat.st_ino == tracked[fd].inode && stat.st_dev == tracked[fd].device;
  errno = saved;
  if (same) return &tracked[fd];
  tracked[fd].kind = NONE;
  return NULL;
}

static int fail(int64_t error) {
  errno = (int)error;
  return -1;
}

static int open_logged(const char *path, int flags, mode_t mode) {
  start();
  const char *name = name_in_directory(path);
  if (!name || ends_with(name, "-shm")) return real_open(path, flags, mode);
  if (control->open_errno && (flags & O_ACCMODE) != O_RDONLY) return fail(control->open_errno);
  lock();
  struct stat stat;
  int existed = lstat(path, &stat) == 0;
  int fd = real_open(path, flags, mode);
  if (fd >= 0 && fd < DESCRIPTORS && fstat(fd, &stat) == 0) {
    enum kind kind = S_ISDIR(stat.st_mode) ? DIRECTORY : ends_with(name, "-wal") ? WAL : FILE_OF_DATA;
    tracked[fd] = (struct tracked){kind, stat.st_ino, stat.st_dev};
    if (kind != DIRECTORY) append(OPEN, stat.st_ino, stat.st_mode & 07777, !existed, name, strlen(name));
    if (existed && kind != DIRECTORY && (flags & O_TRUNC)) append(TRUNCATE, stat.st_ino, 0, 0, NULL, 0);
  }
  unlock();
  return fd;
}

static mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                       \
  int name(const char *path, int flags, ...) {  \
    va_list arguments;                          \
    va_start(arguments, flags);                 \
    mode_t mode = mode_of(flags, arguments);    \
    va_end(arguments);                          \
    return open_logged(path, flags, mode);      \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                                            \
  int name(int at, const char *path, int flags, ...) {                                 \
    va_list arguments;                                                                 \
    va_start(arguments, flags);                                                        \
    mode_t mode = mode_of(flags, arguments);                                           \
    va_end(arguments);                                                                 \
    if (path[0] == '/') return open_logged(path, flags, mode);                         \
    int (*next)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat64");           \
    return next(at, path, flags, mode);                                                \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

int creat(const char *path, mode_t mode) { return open_logged(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open_logged(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static ssize_t write_logged(int fd, const void *bytes, size_t length, off_t offset) {
  start();
  struct tracked *file = find(fd);
  if (!file) return offset < 0 ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
  if (control->write_errno) return fail(control->write_errno);
  lock();
  off_t from = offset >= 0 ? offset : fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
  ssize_t written = offset < 0 ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
  if (written > 0) append(WRITE, file->inode, from, 0, bytes, written);
  unlock();
  return written;
}

ssize_t write(int fd, const void *bytes, size_t length) { return write_logged(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return write_logged(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return write_logged(fd, bytes, length, offset); }

// Of a tracked file only the first part is written: a short write, which every caller has to know.
ssize_t writev(int fd, const struct iovec *parts, int count) {
  start();
  return find(fd) ? write_logged(fd, parts[0].iov_base, parts[0].iov_len, -1) : real_writev(fd, parts, count);
}

static ssize_t pwritev_logged(int fd, const struct iovec *parts, int count, off_t offset) {
  start();
  if (!find(fd)) return real_pwritev(fd, parts, count, offset);
  return write_logged(fd, parts[0].iov_base, parts[0].iov_len, offset);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return pwritev_logged(fd, parts, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) { return pwritev_logged(fd, parts, count, offset); }

ssize_t read(int fd, void *bytes, size_t length) {
  start();
  return control->read_errno && find(fd) ? fail(control->read_errno) : real_read(fd, bytes, length);
}

static ssize_t pread_told(int fd, void *bytes, size_t length, off_t offset) {
  start();
  return control->read_errno && find(fd) ? fail(control->read_errno) : real_pread(fd, bytes, length, offset);
}
ssize_t pread(int fd, void *bytes, size_t length, off_t offset) { return pread_told(fd, bytes, length, offset); }
ssize_t pread64(int fd, void *bytes, size_t length, off_t offset) { return pread_told(fd, bytes, length, offset); }

static int truncate_logged(int fd, off_t size) {
  start();
  struct tracked *file = find(fd);
  if (!file) return real_ftruncate(fd, size);
  if (control->write_errno) return fail(control->write_errno);
  lock();
  int result = real_ftruncate(fd, size);
  if (result == 0) append(TRUNCATE, file->inode, size, 0, NULL, 0);
  unlock();
  return result;
}
int ftruncate(int fd, off_t size) { return truncate_logged(fd, size); }
int ftruncate64(int fd, off_t size) { return truncate_logged(fd, size); }

int fchmod(int fd, mode_t mode) {
  start();
  struct tracked *file = find(fd);
  if (!file) return real_fchmod(fd, mode);
  lock();
  int result = real_fchmod(fd, mode);
  if (result == 0) append(MODE, file->inode, mode & 07777, 0, NULL, 0);
  unlock();
  return result;
}

int unlink(const char *path) {
  start();
  const char *name = name_in_directory(path);
  if (!name || ends_with(name, "-shm")) return real_unlink(path);
  lock();
  int result = real_unlink(path);
  if (result == 0) append(UNLINK, 0, 0, 0, name, strlen(name));
  unlock();
  return result;
}

int rename(const char *from, const char *to) {
  start();
  const char *old = name_in_directory(from), *new = name_in_directory(to);
  if (!old || !new) return real_rename(from, to);
  char both[8192];
  int length = snprintf(both, sizeof both, "%s\n%s", old, new);
  lock();
  int result = real_rename(from, to);
  if (result == 0) append(RENAME, 0, 0, 0, both, length);
  unlock();
  return result;
}

static int sync_logged(int fd, int (*sync)(int)) {
  struct tracked *file = find(fd);
  if (!file) return sync(fd);
  if (control->swallow) return 0;
  int64_t number = ((int64_t)getpid() << 32) | (syncs++ & 0xffffffff);
  ino_t inode = file->kind == DIRECTORY ? 0 : file->inode;
  int64_t error = control->sync_errno;
  lock();
  if (file->kind == WAL && control->fail_wal > 0 && --control->fail_wal == 0) error = EIO;
  append(SYNC_BEGIN, inode, 0, number, NULL, 0);
  unlock();
  while (control->hang) usleep(10000);
  int result = error ? fail(error) : sync(fd);
  lock();
  append(SYNC_END, inode, result, number, NULL, 0);
  unlock();
  return result;
}

int fsync(int fd) {
  start();
  return sync_logged(fd, real_fsync);
}
int fdatasync(int fd) {
  start();
  return sync_logged(fd, real_fdatasync);
}

static int64_t ahead(int64_t nanoseconds) { return nanoseconds + control->clock_offset; }

int clock_gettime(clockid_t clock, struct timespec *time) {
  start();
  int result = real_clock_gettime(clock, time);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) || !control->clock_offset) return result;
  int64_t now = ahead(time->tv_sec * 1000000000LL + time->tv_nsec);
  time->tv_sec = now / 1000000000LL;
  time->tv_nsec = now % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
  start();
  int result = real_gettimeofday(time, zone);
  if (result != 0 || !control->clock_offset) return result;
  int64_t now = ahead(time->tv_sec * 1000000000LL + time->tv_usec * 1000LL);
  time->tv_sec = now / 1000000000LL;
  time->tv_usec = now % 1000000000LL / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
