/* What an instance holds, its messages, and how its computed values are brought up to date. Part of neuler_fmu.c. */
#include "neuler_fmi2.h"
#include "neuler_fmu_model.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { INSTANTIATED = 1, INITIALIZING = 2, EVENTS = 4, CONTINUOUS = 8, STEPPING = 16, TERMINATED = 32, FAILED = 64 };
enum { RUNNING = EVENTS | CONTINUOUS | STEPPING, STARTED = RUNNING | FAILED | TERMINATED };
enum { ACCELERATIONS = 1, POSES = 2 };

typedef struct {
    char guid[40];
    fmi2Type type;
    double time;
    double owed; /* seconds between the last whole step and the time, less than SLACK steps */
    int mode;
    int stale; /* which of the computed values are older than what they depend on */
    double v[FMU_VALUES];
} Memory;

typedef struct {
    const fmi2CallbackFunctions *callbacks;
    const char *name;
    int logging;
    fmi2Status last; /* of the last fmi2DoStep */
    Memory now;
#if FMU_CS
    fmu_run run;
#endif
#if FMU_TRIAL
    double q[FMU_NQ], qd[FMU_NV];
#endif
#if FMU_SLOPES
    double along[FMU_QDD], rates[FMU_VALUES];
#endif
} Instance;

#define SLACK 1e-6 /* of a step: so near to a whole number of them a time is one */

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static fmi2Status say(const Instance *f, fmi2Status status, const char *format, ...)
{
    char said[600];
    va_list arguments;
    const char *category = status == fmi2Discard ? "logStatusDiscard" : "logStatusError";
    if (f->callbacks->logger == NULL || (status == fmi2Discard && !f->logging)) {
        return status;
    }
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    f->callbacks->logger(f->callbacks->componentEnvironment, f->name, status, category, "%s", said);
    return status;
}

static fmi2Status allowed(const Instance *f, int modes, const char *function)
{
    if (f == NULL) {
        return fmi2Error;
    }
    if (!(f->now.mode & modes)) {
        return say(f, fmi2Error, "%s may not be called now%s", function,
                   f->now.mode == FAILED ? ": the run has ended with an error; reset it" : "");
    }
    return fmi2OK;
}

#define NEEDS(modes, function)                                                                                         \
    Instance *f = (Instance *)c;                                                                                       \
    if (allowed(f, modes, function) != fmi2OK) {                                                                       \
        return fmi2Error;                                                                                              \
    }

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void begin_anew(Instance *f, fmi2Type type)
{
    size_t k;
    memset(&f->now, 0, sizeof f->now);
    f->now.type = type;
    memcpy(f->now.guid, FMU_GUID, sizeof FMU_GUID);
    f->now.mode = INSTANTIATED;
    f->now.stale = ACCELERATIONS | POSES;
    for (k = 0; k < FMU_QDD; k++) {
        f->now.v[k] = fmu_starts[k];
    }
    f->last = fmi2OK;
}

/* The place of the first number that is not finite, or the count. */
static size_t strange(const double *x, size_t count)
{
    size_t k;
    for (k = 0; k < count && fabs(x[k]) <= DBL_MAX; k++) {
    }
    return k;
}

#if FMU_CS
static fmi2Status failed(Instance *f, int status, int joint)
{
    const size_t k = strange(f->now.v, FMU_QDD);
    f->now.mode = FAILED;
    f->now.stale = ACCELERATIONS | POSES;
    if (joint < 0 && k < FMU_QDD) {
        return say(f, fmi2Error, "t = %.9g s: %s, the variable with the reference %u", f->now.time,
                   fmu_statuses[status], (unsigned)k);
    }
    return say(f, fmi2Error, "t = %.9g s: %s%s%s", f->now.time, fmu_statuses[status], joint < 0 ? "" : ", joint ",
               joint < 0 ? "" : fmu_joints[joint]);
}
#endif

#if FMU_TRIAL
/* Of machines that dry friction or stops hold: what the next step makes of the velocities. */
static void tried(Instance *f)
{
    size_t k;
    int begun = fmu_begin(&f->run, f->now.v, FMU_DT) == 0;
    if (begun) {
        (void)fmu_advance(&f->run, f->now.v);
    }
    fmu_read(&f->run, f->q, f->qd);
    for (k = 0; k < FMU_NV; k++) {
        f->now.v[FMU_QDD + k] = begun ? (f->qd[k] - f->now.v[FMU_QD + k]) / FMU_DT : NAN;
    }
}
#endif

static void update(Instance *f, int which)
{
    if (which & f->now.stale & ACCELERATIONS) {
#if FMU_TRIAL
        tried(f);
#else
        fmu_accelerate(f->now.v);
#endif
    }
#if FMU_POSES < FMU_VALUES
    if (which & f->now.stale & POSES) {
        fmu_place(f->now.v);
    }
#endif
    f->now.stale &= ~which;
}
