/* A monotonic clock that runs fast by COMET_DRIFT_PPM millionths from its reading COMET_DRIFT_FROM, in
   seconds, for programs that LD_PRELOAD it: what a namespace cannot give its processes. Used by
   cluster-test.sh. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static double ppm, from;
    long failed = syscall(SYS_clock_gettime, clock, time);
    if (failed || clock != CLOCK_MONOTONIC)
        return failed;
    if (ppm == 0) {
        from = atof(getenv("COMET_DRIFT_FROM"));
        ppm = atof(getenv("COMET_DRIFT_PPM"));
    }
    double ahead_ns = ((double)time->tv_sec - from + 1e-9 * (double)time->tv_nsec) * 1e3 * ppm;
    long long ns = time->tv_nsec + (long long)ahead_ns;
    time->tv_sec += ns / 1000000000;
    time->tv_nsec = ns % 1000000000;
    return 0;
}
