/* The table: sites by their arrays. A site lies in one of the WAYS slots from its home on; the newest takes the
 * home of one that has to go. */
enum { SLOTS = 1 << 12, WAYS = 8 };

static struct site *table[SLOTS];

static size_t home_of(PyObject *const *given)
{
    const uint64_t spread = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 divided by the golden ratio */
    uint64_t hash = (uint64_t)kind_of_output(given);
    for (int i = 0; i < ARRAYS; i++) {
        PyArrayObject *array = (PyArrayObject *)given[i];
        hash = (hash ^ (uint64_t)PyArray_DESCR(array)->type_num) * spread;
        for (int dim = 0; dim < PyArray_NDIM(array); dim++)
            hash = (hash ^ (uint64_t)PyArray_DIM(array, dim)) * spread;
        for (int dim = 0; !PyArray_IS_C_CONTIGUOUS(array) && dim < PyArray_NDIM(array); dim++)
            hash = (hash ^ (uint64_t)PyArray_STRIDE(array, dim)) * spread;
        hash ^= hash >> 32;
    }
    return (size_t)(hash % SLOTS);
}

/* Whether a whole number is NumPy's own: one of a class that Python defines may run anything when it is asked. */
static int is_numpys_integer(PyObject *object)
{
    return PyArray_IsScalar(object, Integer) && !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

/* Whether an attribute is the one of a site: the same object, or the same text or whole number. No code of Python's
 * may run meanwhile, which might let go of the site. */
static int same(PyObject *kept, PyObject *given)
{
    if (kept == given)
        return 1;
    if (PyUnicode_CheckExact(kept) && PyUnicode_CheckExact(given))
        return PyUnicode_Compare(kept, given) == 0;
    if (!PyLong_CheckExact(kept) || !(PyLong_CheckExact(given) || is_numpys_integer(given)))
        return 0;
    PyObject *number = PyNumber_Index(given);
    const int equal = number ? PyObject_RichCompareBool(kept, number, Py_EQ) : 0;
    Py_XDECREF(number);
    PyErr_Clear();
    return equal == 1;
}

static int answers(const struct site *site, PyObject *const *given, Py_ssize_t count)
{
    if (site->out != kind_of_output(given) || PyTuple_GET_SIZE(site->attributes) != count - ATTRIBUTES)
        return 0;
    for (int i = 0; i < ARRAYS; i++)
        if (!fits(given[i], site->arrays[i]))
            return 0;
    for (Py_ssize_t i = ATTRIBUTES; i < count; i++)
        if (!same(PyTuple_GET_ITEM(site->attributes, i - ATTRIBUTES), given[i]))
            return 0;
    return 1;
}

/* recall(data, indices, updates, out, *attributes) → the result; None: there is no site for it, or it failed. */
static PyObject *recall(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count < ATTRIBUTES || !PyArray_CheckExact(given[DATA]) || !PyArray_CheckExact(given[INDICES])
        || !PyArray_CheckExact(given[UPDATES]))
        Py_RETURN_NONE;
    const size_t home = home_of(given);
    for (size_t way = 0; way < WAYS; way++) {
        const struct site *site = table[(home + way) % SLOTS];
        if (!site)
            break;
        if (answers(site, given, count))
            return run(site, given);
    }
    Py_RETURN_NONE;
}

/* remember(pointer, owner, scratch, data, indices, updates, out, *attributes): recall it from now on. */
static PyObject *remember(PyObject *module, PyObject *const *described, Py_ssize_t count)
{
    (void)module;
    PyObject *const *given = described + DESCRIBED;
    if ((count -= DESCRIBED) < ATTRIBUTES)
        return PyErr_Format(PyExc_TypeError, "remember takes %d arguments or more", DESCRIBED + ATTRIBUTES);
    struct site *site = new_site(described, given, count), *old;
    if (!site)
        return NULL;
    const size_t home = home_of(given);
    size_t slot = home;
    for (size_t way = 0; way < WAYS; way++) {
        const struct site *other = table[(home + way) % SLOTS];
        if (!other || answers(other, given, count)) {
            slot = (home + way) % SLOTS;
            break;
        }
    }
    old = table[slot];
    table[slot] = site;
    free_site(old);
    Py_RETURN_NONE;
}

/* forget() → how many sites there were. */
static PyObject *forget(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    long found = 0;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        struct site *site = table[slot];
        table[slot] = NULL;
        found += site != NULL;
        free_site(site);
    }
    return PyLong_FromLong(found);
}
