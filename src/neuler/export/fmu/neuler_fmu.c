/* A unit of FMI 2.0 around functions of a robot, which neuler_fmu_model.h names: values by reference, modes, messages.

   An instance holds everything: any number of them may run at once, each in a thread of its own. What goes on from one
   call to the next is in Memory, which is also what fmi2GetFMUstate copies. */
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
    char *name;
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

static int all_finite(const double *x, size_t count)
{
    size_t k;
    for (k = 0; k < count; k++) {
        if (!(fabs(x[k]) <= DBL_MAX)) {
            return 0;
        }
    }
    return 1;
}

#if FMU_CS
static fmi2Status failed(Instance *f, int status, int joint)
{
    f->now.mode = FAILED;
    f->now.stale = ACCELERATIONS | POSES;
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

EXPORTED fmi2Status FMI(fmi2GetReal)(REFERENCES, fmi2Real value[])
{
    size_t k;
    int which = 0;
    NEEDS(INITIALIZING | STARTED, "fmi2GetReal")
    for (k = 0; k < nvr; k++) {
        if (vr[k] >= FMU_VALUES) {
            return say(f, fmi2Error, "fmi2GetReal: there is no real variable with the reference %u", vr[k]);
        }
        which |= vr[k] >= FMU_POSES ? POSES : vr[k] >= FMU_QDD ? ACCELERATIONS : 0;
    }
    update(f, which);
    for (k = 0; k < nvr; k++) {
        value[k] = f->now.v[vr[k]];
    }
    for (k = 0; k < nvr && f->now.mode != FAILED; k++) {
        if (vr[k] >= FMU_QDD && !all_finite(&value[k], 1)) {
            return say(f, fmi2Discard, "t = %.9g s: the variable with the reference %u is not finite", f->now.time,
                       vr[k]);
        }
    }
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2SetReal)(REFERENCES, const fmi2Real value[])
{
    size_t k;
    NEEDS(INSTANTIATED | INITIALIZING | RUNNING, "fmi2SetReal")
    for (k = 0; k < nvr; k++) {
        const char *why = NULL;
        if (vr[k] >= FMU_VALUES) {
            why = "there is none";
        } else if (vr[k] >= FMU_QDD) {
            why = "it is computed";
        } else if (vr[k] >= FMU_PARAMETERS && f->now.mode == CONTINUOUS) {
            why = "parameters change at events only";
        } else if (vr[k] < FMU_TAU && !(f->now.mode & (INSTANTIATED | INITIALIZING))) {
            why = "a state is set before the run begins";
        }
        if (why != NULL) {
            return say(f, fmi2Error, "fmi2SetReal: the variable with the reference %u cannot be set: %s", vr[k], why);
        }
    }
    for (k = 0; k < nvr; k++) {
        f->now.v[vr[k]] = value[k];
    }
    f->now.stale = ACCELERATIONS | POSES;
    return fmi2OK;
}

static fmi2Status without(fmi2Component c, size_t nvr, const char *function)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, function)
    return nvr == 0 ? fmi2OK : say(f, fmi2Error, "%s: all variables are real", function);
}

#define NONE_OF(function, type)                                                                                        \
    EXPORTED fmi2Status FMI(function)(REFERENCES, type value[])                                                        \
    {                                                                                                                  \
        (void)vr;                                                                                                      \
        (void)value;                                                                                                   \
        return without(c, nvr, #function);                                                                             \
    }

NONE_OF(fmi2GetInteger, fmi2Integer)
NONE_OF(fmi2GetBoolean, fmi2Boolean)
NONE_OF(fmi2GetString, fmi2String)
NONE_OF(fmi2SetInteger, const fmi2Integer)
NONE_OF(fmi2SetBoolean, const fmi2Boolean)
NONE_OF(fmi2SetString, const fmi2String)

EXPORTED fmi2Status FMI(fmi2SetRealInputDerivatives)(REFERENCES, const fmi2Integer order[], const fmi2Real value[])
{
    NEEDS(INSTANTIATED | INITIALIZING | RUNNING, "fmi2SetRealInputDerivatives")
    (void)vr;
    (void)order;
    (void)value;
    return nvr == 0 ? fmi2OK : say(f, fmi2Error, "fmi2SetRealInputDerivatives: inputs are held over a step");
}

EXPORTED fmi2Status FMI(fmi2GetRealOutputDerivatives)(REFERENCES, const fmi2Integer order[], fmi2Real value[])
{
    NEEDS(STARTED, "fmi2GetRealOutputDerivatives")
    (void)vr;
    (void)order;
    (void)value;
    return nvr == 0 ? fmi2OK : say(f, fmi2Error, "fmi2GetRealOutputDerivatives: there are none");
}

EXPORTED fmi2Status FMI(fmi2GetDirectionalDerivative)(fmi2Component c, const fmi2ValueReference unknown[],
                                                      size_t unknowns, const fmi2ValueReference known[], size_t knowns,
                                                      const fmi2Real along[], fmi2Real found[])
{
    NEEDS(INITIALIZING | RUNNING, "fmi2GetDirectionalDerivative")
#if FMU_SLOPES
    size_t k;
    memset(f->along, 0, sizeof f->along);
    for (k = 0; k < knowns; k++) {
        if (known[k] >= FMU_QDD) {
            return say(f, fmi2Error, "fmi2GetDirectionalDerivative: reference %u is no state, input or parameter",
                       known[k]);
        }
        f->along[known[k]] = along[k];
    }
    for (k = 0; k < unknowns; k++) {
        if (unknown[k] >= FMU_VALUES) {
            return say(f, fmi2Error, "fmi2GetDirectionalDerivative: there is no reference %u", unknown[k]);
        }
    }
    memcpy(f->rates, f->along, sizeof f->along);
    fmu_differentiate(f->now.v, f->along, f->rates);
    for (k = 0; k < unknowns; k++) {
        found[k] = f->rates[unknown[k]];
    }
    return fmi2OK;
#else
    (void)unknown;
    (void)unknowns;
    (void)known;
    (void)knowns;
    (void)along;
    (void)found;
    return say(f, fmi2Error, "fmi2GetDirectionalDerivative: this unit has none");
#endif
}

/* ---- instances and their modes ----------------------------------------------------------------------------------- */

EXPORTED const char *FMI(fmi2GetTypesPlatform)(void)
{
    return "default";
}

EXPORTED const char *FMI(fmi2GetVersion)(void)
{
    return "2.0";
}

EXPORTED fmi2Status FMI(fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String names[])
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2SetDebugLogging")
    (void)count;
    (void)names;
    f->logging = on != fmi2False;
    return fmi2OK;
}

EXPORTED fmi2Component FMI(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                            const fmi2CallbackFunctions *callbacks, fmi2Boolean visible,
                                            fmi2Boolean logging)
{
    Instance *f, unborn;
    const char *why = NULL;
    size_t size;
    (void)resources;
    (void)visible;
    if (callbacks == NULL || callbacks->allocateMemory == NULL || callbacks->freeMemory == NULL) {
        return NULL;
    }
    memset(&unborn, 0, sizeof unborn);
    unborn.callbacks = callbacks;
    if (guid == NULL || strcmp(guid, FMU_GUID) != 0) {
        why = "the GUID is not that of this library: modelDescription.xml and library are of different units";
    } else if (type == fmi2ModelExchange && !FMU_ME) {
        why = "this unit has no model exchange";
    } else if (type == fmi2CoSimulation && !FMU_CS) {
        why = "this unit has no co-simulation";
    }
    if (why != NULL) {
        (void)say(&unborn, fmi2Error, "fmi2Instantiate: %s", why);
        return NULL;
    }
    f = (Instance *)callbacks->allocateMemory(1, sizeof(Instance));
    if (f == NULL) {
        return NULL;
    }
    memset(f, 0, sizeof *f);
    size = name == NULL ? 1 : strlen(name) + 1;
    f->name = (char *)callbacks->allocateMemory(size, 1);
    if (f->name == NULL) {
        callbacks->freeMemory(f);
        return NULL;
    }
    memcpy(f->name, name == NULL ? "" : name, size);
    f->callbacks = callbacks;
    f->logging = logging != fmi2False;
    begin_anew(f, type);
    return f;
}

EXPORTED void FMI(fmi2FreeInstance)(fmi2Component c)
{
    Instance *f = (Instance *)c;
    if (f != NULL) {
        void (*release)(void *) = f->callbacks->freeMemory;
        release(f->name);
        release(f);
    }
}

EXPORTED fmi2Status FMI(fmi2SetupExperiment)(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance,
                                             fmi2Real start, fmi2Boolean has_stop, fmi2Real stop)
{
    NEEDS(INSTANTIATED, "fmi2SetupExperiment")
    (void)has_tolerance;
    (void)tolerance;
    (void)has_stop;
    (void)stop;
    f->now.time = start;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2EnterInitializationMode)(fmi2Component c)
{
    NEEDS(INSTANTIATED, "fmi2EnterInitializationMode")
    f->now.mode = INITIALIZING;
    return fmi2OK;
}

static fmi2Status may_begin(Instance *f)
{
    if (!all_finite(f->now.v, FMU_QDD)) {
        return say(f, fmi2Error, "a start value, an input or a parameter is not finite");
    }
#if FMU_ROTATIONS
    size_t k;
    for (k = 0; k < FMU_ROTATIONS; k++) {
        const double *x = f->now.v + fmu_rotations[k].first;
        if (!(fabs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 1.0) < FMU_UNIT)) {
            return say(f, fmi2Error, "the start values of the quaternion of joint %s have not the length one",
                       fmu_joints[fmu_rotations[k].joint]);
        }
    }
#endif
#if FMU_CS
    if (f->now.type == fmi2CoSimulation && fmu_begin(&f->run, f->now.v, FMU_DT) != 0) {
        return failed(f, f->run.status, f->run.joint);
    }
#endif
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2ExitInitializationMode)(fmi2Component c)
{
    NEEDS(INITIALIZING, "fmi2ExitInitializationMode")
    if (may_begin(f) != fmi2OK) {
        f->now.mode = FAILED;
        return fmi2Error;
    }
    f->now.mode = f->now.type == fmi2ModelExchange ? EVENTS : STEPPING;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2Terminate)(fmi2Component c)
{
    NEEDS(RUNNING | FAILED, "fmi2Terminate")
    f->now.mode = TERMINATED;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2Reset)(fmi2Component c)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2Reset")
    begin_anew(f, f->now.type);
    return fmi2OK;
}

/* ---- copies of all that changes ---------------------------------------------------------------------------------- */

EXPORTED fmi2Status FMI(fmi2GetFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2GetFMUstate")
    if (*state == NULL) {
        *state = f->callbacks->allocateMemory(1, sizeof(Memory));
    }
    if (*state == NULL) {
        return say(f, fmi2Error, "fmi2GetFMUstate: no memory");
    }
    memcpy(*state, &f->now, sizeof(Memory));
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2SetFMUstate)(fmi2Component c, fmi2FMUstate state)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2SetFMUstate")
    if (state == NULL || ((const Memory *)state)->type != f->now.type) {
        return say(f, fmi2Error, "fmi2SetFMUstate: %s",
                   state == NULL ? "there is no state" : "a state of model exchange is none of co-simulation");
    }
    memcpy(&f->now, state, sizeof(Memory));
    f->last = fmi2OK;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2FreeFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2FreeFMUstate")
    if (state != NULL && *state != NULL) {
        f->callbacks->freeMemory(*state);
        *state = NULL;
    }
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2SerializedFMUstateSize")
    (void)state;
    *size = sizeof(Memory);
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2SerializeFMUstate")
    if (state == NULL || size < sizeof(Memory)) {
        return say(f, fmi2Error, "fmi2SerializeFMUstate: %s", state == NULL ? "there is no state" : "too few bytes");
    }
    memcpy(bytes, state, sizeof(Memory));
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                                 fmi2FMUstate *state)
{
    NEEDS(INSTANTIATED | INITIALIZING | STARTED, "fmi2DeSerializeFMUstate")
    if (size != sizeof(Memory) || memcmp(bytes, f->now.guid, sizeof f->now.guid) != 0) {
        return say(f, fmi2Error, "fmi2DeSerializeFMUstate: these bytes are not of this unit");
    }
    if (*state == NULL) {
        *state = f->callbacks->allocateMemory(1, sizeof(Memory));
    }
    if (*state == NULL) {
        return say(f, fmi2Error, "fmi2DeSerializeFMUstate: no memory");
    }
    memcpy(*state, bytes, sizeof(Memory));
    return fmi2OK;
}

/* ---- model exchange ---------------------------------------------------------------------------------------------- */

EXPORTED fmi2Status FMI(fmi2EnterEventMode)(fmi2Component c)
{
    NEEDS(EVENTS | CONTINUOUS, "fmi2EnterEventMode")
    f->now.mode = EVENTS;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info)
{
    NEEDS(EVENTS, "fmi2NewDiscreteStates")
    memset(info, 0, sizeof *info); /* nothing is discrete: no event, no end, no change of states */
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2EnterContinuousTimeMode)(fmi2Component c)
{
    NEEDS(EVENTS, "fmi2EnterContinuousTimeMode")
    f->now.mode = CONTINUOUS;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2CompletedIntegratorStep)(fmi2Component c, fmi2Boolean no_set_before, fmi2Boolean *event,
                                                     fmi2Boolean *terminate)
{
    NEEDS(CONTINUOUS, "fmi2CompletedIntegratorStep")
    (void)no_set_before;
    *event = fmi2False;
    *terminate = fmi2False;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2SetTime)(fmi2Component c, fmi2Real time)
{
    NEEDS(EVENTS | CONTINUOUS, "fmi2SetTime")
    f->now.time = time;
    return fmi2OK;
}

static fmi2Status as_many(const Instance *f, size_t count, size_t wanted, const char *function)
{
    return count == wanted ? fmi2OK
                           : say(f, fmi2Error, "%s: expected %u numbers, got %u", function, (unsigned)wanted,
                                 (unsigned)count);
}

EXPORTED fmi2Status FMI(fmi2SetContinuousStates)(fmi2Component c, const fmi2Real x[], size_t count)
{
    NEEDS(CONTINUOUS, "fmi2SetContinuousStates")
    if (as_many(f, count, FMU_TAU, "fmi2SetContinuousStates") != fmi2OK) {
        return fmi2Error;
    }
    memcpy(f->now.v, x, sizeof(double) * FMU_TAU);
    f->now.stale = ACCELERATIONS | POSES;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2GetContinuousStates)(fmi2Component c, fmi2Real x[], size_t count)
{
    NEEDS(INITIALIZING | EVENTS | CONTINUOUS | TERMINATED, "fmi2GetContinuousStates")
    if (as_many(f, count, FMU_TAU, "fmi2GetContinuousStates") != fmi2OK) {
        return fmi2Error;
    }
    memcpy(x, f->now.v, sizeof(double) * FMU_TAU);
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2GetNominalsOfContinuousStates)(fmi2Component c, fmi2Real nominal[], size_t count)
{
    size_t k;
    NEEDS(INITIALIZING | EVENTS | CONTINUOUS | TERMINATED, "fmi2GetNominalsOfContinuousStates")
    if (as_many(f, count, FMU_TAU, "fmi2GetNominalsOfContinuousStates") != fmi2OK) {
        return fmi2Error;
    }
    for (k = 0; k < count; k++) {
        nominal[k] = 1.0;
    }
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2GetDerivatives)(fmi2Component c, fmi2Real rates[], size_t count)
{
    NEEDS(INITIALIZING | EVENTS | CONTINUOUS | TERMINATED, "fmi2GetDerivatives")
    if (as_many(f, count, FMU_ME ? FMU_TAU : 0, "fmi2GetDerivatives") != fmi2OK) {
        return fmi2Error;
    }
#if FMU_ME
    update(f, ACCELERATIONS);
    memcpy(rates, f->now.v + FMU_RATES, sizeof(double) * FMU_NQ);
    memcpy(rates + FMU_NQ, f->now.v + FMU_QDD, sizeof(double) * FMU_NV);
    if (!all_finite(rates, count)) {
        return say(f, fmi2Discard, "t = %.9g s: a derivative is not finite", f->now.time);
    }
#else
    (void)rates;
#endif
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2GetEventIndicators)(fmi2Component c, fmi2Real indicators[], size_t count)
{
    NEEDS(INITIALIZING | EVENTS | CONTINUOUS | TERMINATED, "fmi2GetEventIndicators")
    (void)indicators;
    return as_many(f, count, 0, "fmi2GetEventIndicators");
}

/* ---- co-simulation ----------------------------------------------------------------------------------------------- */

#if FMU_CS
/* Do so many steps of dt seconds, the inputs held. Runs go on from q and qd alone. */
static fmi2Status steps(Instance *f, double count, double dt)
{
    double done;
    const double began = f->now.time;
    int status = fmu_begin(&f->run, f->now.v, dt);
    for (done = 0.0; done < count && status == 0; done += 1.0) {
        status = fmu_advance(&f->run, f->now.v);
        if (status == 0) {
            f->now.time += dt;
        }
    }
    if (status != 0) {
        (void)failed(f, status, f->run.joint);
        f->now.time = began; /* that of the values, which stay */
        return fmi2Error;
    }
    fmu_read(&f->run, f->now.v, f->now.v + FMU_QD);
    f->now.stale = ACCELERATIONS | POSES;
    return fmi2OK;
}
#endif

EXPORTED fmi2Status FMI(fmi2DoStep)(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_set_before)
{
    NEEDS(STEPPING, "fmi2DoStep")
    (void)no_set_before;
#if FMU_CS
    double away = fabs(time - f->now.time), whole, rest;
    if (!(step >= 0.0 && step < 1e15 * FMU_DT)) {
        return say(f, fmi2Error, "fmi2DoStep: a step of %g s", step);
    }
    if (!(away <= 1e-3 * FMU_DT + 1e-9 * fabs(time))) {
        return say(f, fmi2Error, "fmi2DoStep: a step at t = %.9g s, and the unit is at t = %.9g s", time, f->now.time);
    }
    f->now.time = time;
    rest = f->now.owed + step;
    whole = floor(rest / FMU_DT + SLACK);
    rest -= whole * FMU_DT;
    f->last = whole > 0.0 ? steps(f, whole, FMU_DT) : fmi2OK;
    if (f->last == fmi2OK && rest > SLACK * FMU_DT) { /* what is left is a shorter step */
        f->last = steps(f, 1.0, rest);
        rest = 0.0;
    }
    if (f->last == fmi2OK) {
        f->now.owed = rest;
        f->now.time = time + step;
    }
    return f->last;
#else
    (void)time;
    (void)step;
    return fmi2Error;
#endif
}

EXPORTED fmi2Status FMI(fmi2CancelStep)(fmi2Component c)
{
    NEEDS(STEPPING, "fmi2CancelStep")
    return say(f, fmi2Error, "fmi2CancelStep: steps are done when fmi2DoStep returns");
}

EXPORTED fmi2Status FMI(fmi2GetStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    NEEDS(STARTED, "fmi2GetStatus")
    *value = f->last;
    return kind == fmi2DoStepStatus ? fmi2OK : fmi2Discard;
}

EXPORTED fmi2Status FMI(fmi2GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    NEEDS(STARTED, "fmi2GetRealStatus")
    *value = f->now.time;
    return kind == fmi2LastSuccessfulTime ? fmi2OK : fmi2Discard;
}

EXPORTED fmi2Status FMI(fmi2GetIntegerStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    NEEDS(STARTED, "fmi2GetIntegerStatus")
    (void)kind;
    *value = 0;
    return fmi2Discard;
}

EXPORTED fmi2Status FMI(fmi2GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    NEEDS(STARTED, "fmi2GetBooleanStatus")
    *value = fmi2False;
    return kind == fmi2Terminated ? fmi2OK : fmi2Discard;
}

EXPORTED fmi2Status FMI(fmi2GetStringStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    NEEDS(STARTED, "fmi2GetStringStatus")
    (void)kind;
    *value = "";
    return fmi2Discard;
}
