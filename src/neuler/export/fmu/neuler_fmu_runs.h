/* How time goes on: derivatives for a solver outside, and steps of the unit itself. Part of neuler_fmu.c. */

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
    if (strange(rates, count) < count) {
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
