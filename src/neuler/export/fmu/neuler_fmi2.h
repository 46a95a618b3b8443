/* The types and functions of FMI 2.0 that a unit exports, declared by their names in the standard. */
#ifndef NEULER_FMI2_H
#define NEULER_FMI2_H

#include <stddef.h>

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;

#define fmi2True 1
#define fmi2False 0

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
typedef void *(*fmi2CallbackAllocateMemory)(size_t, size_t);
typedef void (*fmi2CallbackFreeMemory)(void *);
typedef void (*fmi2StepFinished)(fmi2ComponentEnvironment, fmi2Status);

typedef struct {
    const fmi2CallbackLogger logger;
    const fmi2CallbackAllocateMemory allocateMemory;
    const fmi2CallbackFreeMemory freeMemory;
    const fmi2StepFinished stepFinished;
    const fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

/* An importer that links sources of several units defines FMI2_FUNCTION_PREFIX: the identifier and an underscore. */
#ifdef FMI2_FUNCTION_PREFIX
#define NEULER_PASTE(a, b) a##b
#define NEULER_JOIN(a, b) NEULER_PASTE(a, b)
#define FMI(name) NEULER_JOIN(FMI2_FUNCTION_PREFIX, name)
#define EXPORTED
#else
#define FMI(name) name
#if defined(_WIN32) || defined(__CYGWIN__)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif
#endif

#define REFERENCES fmi2Component c, const fmi2ValueReference vr[], size_t nvr

#ifdef __cplusplus
extern "C" {
#endif

EXPORTED const char *FMI(fmi2GetTypesPlatform)(void);
EXPORTED const char *FMI(fmi2GetVersion)(void);
EXPORTED fmi2Status FMI(fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String names[]);
EXPORTED fmi2Component FMI(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                            const fmi2CallbackFunctions *callbacks, fmi2Boolean visible,
                                            fmi2Boolean logging);
EXPORTED void FMI(fmi2FreeInstance)(fmi2Component c);
EXPORTED fmi2Status FMI(fmi2SetupExperiment)(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance,
                                             fmi2Real start, fmi2Boolean has_stop, fmi2Real stop);
EXPORTED fmi2Status FMI(fmi2EnterInitializationMode)(fmi2Component c);
EXPORTED fmi2Status FMI(fmi2ExitInitializationMode)(fmi2Component c);
EXPORTED fmi2Status FMI(fmi2Terminate)(fmi2Component c);
EXPORTED fmi2Status FMI(fmi2Reset)(fmi2Component c);

EXPORTED fmi2Status FMI(fmi2GetReal)(REFERENCES, fmi2Real value[]);
EXPORTED fmi2Status FMI(fmi2GetInteger)(REFERENCES, fmi2Integer value[]);
EXPORTED fmi2Status FMI(fmi2GetBoolean)(REFERENCES, fmi2Boolean value[]);
EXPORTED fmi2Status FMI(fmi2GetString)(REFERENCES, fmi2String value[]);
EXPORTED fmi2Status FMI(fmi2SetReal)(REFERENCES, const fmi2Real value[]);
EXPORTED fmi2Status FMI(fmi2SetInteger)(REFERENCES, const fmi2Integer value[]);
EXPORTED fmi2Status FMI(fmi2SetBoolean)(REFERENCES, const fmi2Boolean value[]);
EXPORTED fmi2Status FMI(fmi2SetString)(REFERENCES, const fmi2String value[]);

EXPORTED fmi2Status FMI(fmi2GetFMUstate)(fmi2Component c, fmi2FMUstate *state);
EXPORTED fmi2Status FMI(fmi2SetFMUstate)(fmi2Component c, fmi2FMUstate state);
EXPORTED fmi2Status FMI(fmi2FreeFMUstate)(fmi2Component c, fmi2FMUstate *state);
EXPORTED fmi2Status FMI(fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size);
EXPORTED fmi2Status FMI(fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size);
EXPORTED fmi2Status FMI(fmi2DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                                 fmi2FMUstate *state);
EXPORTED fmi2Status FMI(fmi2GetDirectionalDerivative)(fmi2Component c, const fmi2ValueReference unknown[],
                                                      size_t unknowns, const fmi2ValueReference known[], size_t knowns,
                                                      const fmi2Real along[], fmi2Real found[]);

EXPORTED fmi2Status FMI(fmi2EnterEventMode)(fmi2Component c);
EXPORTED fmi2Status FMI(fmi2NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info);
EXPORTED fmi2Status FMI(fmi2EnterContinuousTimeMode)(fmi2Component c);
EXPORTED fmi2Status FMI(fmi2CompletedIntegratorStep)(fmi2Component c, fmi2Boolean no_set_before, fmi2Boolean *event,
                                                     fmi2Boolean *terminate);
EXPORTED fmi2Status FMI(fmi2SetTime)(fmi2Component c, fmi2Real time);
EXPORTED fmi2Status FMI(fmi2SetContinuousStates)(fmi2Component c, const fmi2Real x[], size_t count);
EXPORTED fmi2Status FMI(fmi2GetDerivatives)(fmi2Component c, fmi2Real rates[], size_t count);
EXPORTED fmi2Status FMI(fmi2GetEventIndicators)(fmi2Component c, fmi2Real indicators[], size_t count);
EXPORTED fmi2Status FMI(fmi2GetContinuousStates)(fmi2Component c, fmi2Real x[], size_t count);
EXPORTED fmi2Status FMI(fmi2GetNominalsOfContinuousStates)(fmi2Component c, fmi2Real nominal[], size_t count);

EXPORTED fmi2Status FMI(fmi2SetRealInputDerivatives)(REFERENCES, const fmi2Integer order[], const fmi2Real value[]);
EXPORTED fmi2Status FMI(fmi2GetRealOutputDerivatives)(REFERENCES, const fmi2Integer order[], fmi2Real value[]);
EXPORTED fmi2Status FMI(fmi2DoStep)(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_set_before);
EXPORTED fmi2Status FMI(fmi2CancelStep)(fmi2Component c);
EXPORTED fmi2Status FMI(fmi2GetStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value);
EXPORTED fmi2Status FMI(fmi2GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value);
EXPORTED fmi2Status FMI(fmi2GetIntegerStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value);
EXPORTED fmi2Status FMI(fmi2GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value);
EXPORTED fmi2Status FMI(fmi2GetStringStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2String *value);

#ifdef __cplusplus
}
#endif

#endif
