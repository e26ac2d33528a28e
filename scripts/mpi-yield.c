/* Gives the CPU away whenever the progress engine of MPICH over UCX has found nothing: a library to preload,
 * for scripts/mpi-test.sh and bench-suites.sh, where more ranks than CPUs would spin until the system takes the
 * CPU from them.
 * Open MPI does the same by itself, or with mpi_yield_when_idle.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

typedef unsigned progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static progress *next;
    if (!next) {
        next = (progress *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    unsigned n_events = next(worker);
    if (n_events == 0) {
        sched_yield();
    }
    return n_events;
}
