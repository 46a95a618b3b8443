"""Words that no exported function or argument may be called: of C, C++, the C library, and tools around them."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_C = _words("""
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex
    _Imaginary asm typeof alignas alignof bool catch class concept constexpr decltype delete explicit export false
    friend mutable namespace new noexcept nullptr operator private protected public requires static_assert template
    this thread_local throw true try typeid typename using virtual wchar_t and and_eq bitand bitor compl not not_eq or
    or_eq xor xor_eq main linux unix
""")
_MATH = _words("""
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
    fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
""")
"""Of math.h; each has a form for floats and one for long doubles."""
_MACROS = _words("""
    isgreater isgreaterequal isless islessequal islessgreater isunordered isnan isinf isfinite isnormal signbit
    fpclassify float_t double_t gamma j0 j1 jn y0 y1 yn sincos exp10 pow10 drem significand scalb finite
    NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL FP_NAN FP_INFINITE FP_ZERO FP_NORMAL FP_SUBNORMAL FP_FAST_FMA
    FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT math_errhandling DBL_MAX FLT_MAX DBL_MIN
    FLT_MIN M_PI M_E I errno EOF NULL BUFSIZ RAND_MAX SEEK_CUR SEEK_END SEEK_SET EXIT_FAILURE EXIT_SUCCESS CHAR_BIT
    SIZE_MAX PTRDIFF_MAX PTRDIFF_MIN offsetof
""")
_STDLIB = _words("""
    abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc mblen
    mbstowcs mbtowc qsort rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs
    wctomb alloca index rindex bcmp bcopy bzero environ
    FILE clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fpos_t fprintf fputc fputs fread freopen fscanf
    fseek fsetpos ftell fwrite getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf
    setvbuf snprintf sprintf sscanf stderr stdin stdout tmpfile tmpnam ungetc vfprintf vprintf vscanf vsnprintf
    vsprintf getline dprintf fileno popen pclose
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp
    strncpy strpbrk strrchr strspn strstr strtok strxfrm strdup strndup stpcpy
    isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper
    isascii toascii
    time clock signal raise difftime mktime asctime ctime gmtime localtime strftime time_t clock_t sig_atomic_t
    setjmp longjmp jmp_buf va_list va_start va_end va_arg va_copy setlocale localeconv assert
    read write open close link unlink access chdir dup dup2 fork pipe sleep usleep kill wait stat select send recv
    size_t ptrdiff_t intptr_t uintptr_t intmax_t uintmax_t ssize_t off_t
""")
_SIZES = frozenset(
    f"{sign}{form}{bits}{end}"
    for sign in ("", "u", "U")
    for form in ("int", "INT", "int_least", "int_fast", "INT_LEAST", "INT_FAST")
    for bits in (8, 16, 32, 64)
    for end in ("_t", "_MAX", "_MIN", "_C")
)
_TOOLS = _words("""
    FMA HAS_FMA FAR_ANGLE NEULER_RESTRICT NEULER_NO_FMA np neuler test all install clean help package features math
    string stdio stdlib stdint stddef limits locale ctype complex fenv inttypes tgmath wchar
""")
"""Names of our macros, targets of CMake, headers of the library."""
RESERVED = _C | _MATH | {f"{name}{end}" for name in _MATH for end in "fl"} | _MACROS | _STDLIB | _SIZES | _TOOLS
