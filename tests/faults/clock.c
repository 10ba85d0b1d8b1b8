/* Shows a process another time of day: preloaded (LD_PRELOAD) into workers.

   TESTS_CLOCK_FILE holds the seconds to add, as 8 bytes; a change takes effect at once.
   Monotonic clocks stay as they are, as they do when an administrator sets the clock.
   Deadlines of waits are translated back: the kernel knows only the host's time. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("TESTS_CLOCK_FILE");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (file >= 0) {
        void *page = mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
        if (page != MAP_FAILED)
            offset = page;
        close(file);
    }
}

int clock_gettime(clockid_t id, struct timespec *at)
{
    if (!real_clock_gettime)
        real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_clock_gettime(id, at);
    if (!result && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        at->tv_sec += *offset;
    return result;
}

int gettimeofday(struct timeval *at, void *zone)
{
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *result)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}

/* Monotonic deadlines are seconds since the host's start, not since 1970. */
#define SINCE_1970 500000000

static const struct timespec *hosts(const struct timespec *at, struct timespec *real)
{
    *real = *at;
    if (offset && at->tv_sec > SINCE_1970)
        real->tv_sec -= *offset;
    return real;
}

static void *next(const char *name)
{
    /* dlsym finds the first version of a symbol, whose condition variables differ. */
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *at)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec host;
    if (!real)
        real = next("pthread_cond_timedwait");
    return real(cond, mutex, hosts(at, &host));
}

int cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *at)
{
    static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
    struct timespec host;
    if (!real)
        real = next("cnd_timedwait");
    return real(cond, mutex, hosts(at, &host));
}

int sem_timedwait(sem_t *semaphore, const struct timespec *at)
{
    static int (*real)(sem_t *, const struct timespec *);
    struct timespec host;
    if (!real)
        real = next("sem_timedwait");
    return real(semaphore, hosts(at, &host));
}
