/* A unit of FMI 2.0 around functions of a robot, which neuler_fmu_model.h names: instances, their modes, their copies.

   It is compiled as one file, with its parts included. An instance holds everything: any number of them may run at
   once, each in a thread of its own. What goes on from one call to the next is in Memory, which is also what
   fmi2GetFMUstate copies. */
#include "neuler_fmu_instance.h"
#include "neuler_fmu_values.h"
#include "neuler_fmu_runs.h"

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
    char *own;
    size_t size;
    (void)resources;
    (void)visible;
    if (callbacks == NULL || callbacks->allocateMemory == NULL || callbacks->freeMemory == NULL) {
        return NULL;
    }
    memset(&unborn, 0, sizeof unborn);
    unborn.callbacks = callbacks;
    unborn.name = name == NULL ? "" : name;
    if (guid == NULL || strcmp(guid, FMU_GUID) != 0) {
        why = "the GUID is not that of this library: modelDescription.xml and library are of different units";
    } else if (type != fmi2ModelExchange && type != fmi2CoSimulation) {
        why = "the type is neither model exchange nor co-simulation";
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
    own = (char *)callbacks->allocateMemory(size, 1);
    if (own == NULL) {
        callbacks->freeMemory(f);
        return NULL;
    }
    memcpy(own, unborn.name, size);
    f->name = own;
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
        release((char *)f->name);
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
    if (strange(&start, 1) == 0) {
        return say(f, fmi2Error, "fmi2SetupExperiment: the start time is not finite");
    }
    f->now.time = start;
    return fmi2OK;
}

EXPORTED fmi2Status FMI(fmi2EnterInitializationMode)(fmi2Component c)
{
    NEEDS(INSTANTIATED, "fmi2EnterInitializationMode")
    f->now.mode = INITIALIZING;
    return fmi2OK;
}

#if FMU_LOOPS
static fmi2Status closed(const Instance *f)
{
    double open[FMU_LOOPS], upright[FMU_LOOPS], all = 0.0; /* squares of gaps; below zero where turned over */
    size_t k, worst = 0, turned = FMU_LOOPS;
    fmu_measure(f->now.v, open, upright);
    for (k = 0; k < FMU_LOOPS; k++) {
        all += open[k];
        worst = open[k] > open[worst] ? k : worst;
        turned = upright[k] > 0.0 ? turned : k;
    }
    if (!(all < FMU_OPEN * FMU_OPEN)) {
        return say(f, fmi2Error,
                   "the start values of q leave the loop %s open by %.3g (m, rad): set positions that close all loops; "
                   "robot.assemble(...) of neuler finds them",
                   fmu_loops[worst], sqrt(open[worst]));
    }
    if (turned < FMU_LOOPS) {
        return say(f, fmi2Error,
                   "the start values of q close the loop %s the wrong way round, with opposite axes: set other "
                   "positions; robot.assemble(...) of neuler finds them",
                   fmu_loops[turned]);
    }
    return fmi2OK;
}
#endif

static fmi2Status may_begin(Instance *f)
{
    const size_t first = strange(f->now.v, FMU_QDD);
    if (first < FMU_QDD) {
        return say(f, fmi2Error, "the start value of the variable with the reference %u is not finite", (unsigned)first);
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
#if FMU_LOOPS
    if (closed(f) != fmi2OK) {
        return fmi2Error;
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
