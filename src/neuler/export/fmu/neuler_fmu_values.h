/* Values by reference: read, set, differentiated. Part of neuler_fmu.c. */

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
        if (vr[k] >= FMU_QDD && strange(&value[k], 1) == 0) {
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
