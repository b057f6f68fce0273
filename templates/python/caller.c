/* How Python calls kernels: this becomes an extension module, of which cffi writes the rest.
 *
 * A small call spends its time on finding out what it is. So C looks at the arrays here, and finds the call that
 * answers ones like them, in the table below. What is not found, does not fit or fails returns None, with nothing
 * written, and is left to whoever asked. Reads of arrays what NumPy's headers lay open. */
#include <stdint.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

struct scattergen_call {
    int64_t (*run)(void *out, const void *data, const void *indices, const void *updates,
                   const int64_t *layout, void *scratch, int32_t threads);
    int64_t (*check)(const void *indices, const int64_t *layout); /* NULL: `out` is nobody else's yet */
    const int64_t *layout;
    int32_t threads;
    uintptr_t element_mask, index_mask;
};

enum { MISALIGNED = -2 }; /* an address is no multiple of its element's size, and the call did not run */

static int64_t scattergen_invoke(const void *call, void *out, const void *data, const void *indices,
                                 const void *updates, void *scratch)
{
    const struct scattergen_call *c = call;
    if ((((uintptr_t)out | (uintptr_t)data | (uintptr_t)updates) & c->element_mask)
        || ((uintptr_t)indices & c->index_mask))
        return MISALIGNED;
    if (c->check) {
        const int64_t position = c->check(indices, c->layout);
        if (position >= 0)
            return position;
    }
    return c->run(out, data, indices, updates, c->layout, scratch, c->threads);
}

/* What an array has to be: of NumPy's own class, in C order, of this very dtype and of this shape. */
struct kind {
    PyArray_Descr *type;
    npy_intp bytes;
    int rank;
    npy_intp shape[];
};

enum { DATA, INDICES, UPDATES, OUT, ATTRIBUTES, ARRAYS = OUT };

/* A call together with the arrays that it is for. */
struct site {
    const struct scattergen_call *call;
    PyObject *owner;   /* of `call` */
    PyObject *scratch; /* a function of no arguments → the address of this thread's scratch; NULL: none is needed */
    PyObject *attributes;
    int out; /* which kind of output, see below */
    int long_enough; /* for other threads of Python to run meanwhile */
    struct kind *arrays[ARRAYS];
};

enum { FRESH, DATA_ITSELF, ANOTHER };

/* Bytes of a call's arrays from which on the interpreter is let go: it takes 40 ns, these bytes some hundreds. */
enum { LONG = 1 << 12 };

static struct kind *kind_of(PyArrayObject *array)
{
    struct kind *kind = PyMem_Malloc(sizeof *kind + (size_t)PyArray_NDIM(array) * sizeof(npy_intp));
    if (!kind)
        return NULL;
    kind->type = PyArray_DESCR(array);
    Py_INCREF(kind->type);
    kind->bytes = PyArray_NBYTES(array);
    kind->rank = PyArray_NDIM(array);
    for (int i = 0; i < kind->rank; i++)
        kind->shape[i] = PyArray_DIM(array, i);
    return kind;
}

static int fits(PyObject *object, const struct kind *kind)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_DESCR(array) != kind->type || PyArray_NDIM(array) != kind->rank
        || !PyArray_IS_C_CONTIGUOUS(array))
        return 0;
    for (int i = 0; i < kind->rank; i++)
        if (PyArray_DIM(array, i) != kind->shape[i])
            return 0;
    return 1;
}

static int kind_of_output(PyObject *const *given)
{
    return given[OUT] == Py_None ? FRESH : given[OUT] == given[DATA] ? DATA_ITSELF : ANOTHER;
}

static void free_site(struct site *site)
{
    if (!site)
        return;
    for (int i = 0; i < ARRAYS; i++)
        if (site->arrays[i]) {
            Py_DECREF(site->arrays[i]->type);
            PyMem_Free(site->arrays[i]);
        }
    Py_XDECREF(site->owner);
    Py_XDECREF(site->scratch);
    Py_XDECREF(site->attributes);
    PyMem_Free(site);
}

/* What Python hands over to describe a call, before the arrays. */
enum { POINTER, OWNER, SCRATCH, DESCRIBED };

static struct site *new_site(PyObject *const *described, PyObject *const *given, Py_ssize_t count)
{
    for (int i = 0; i < ARRAYS; i++)
        if (!PyArray_CheckExact(given[i])) {
            PyErr_SetString(PyExc_TypeError, "data, indices and updates of a site are arrays");
            return NULL;
        }
    void *call = PyLong_AsVoidPtr(described[POINTER]);
    struct site *site = call ? PyMem_Calloc(1, sizeof *site) : NULL;
    if (!site)
        return PyErr_Occurred() ? NULL : (struct site *)PyErr_NoMemory();
    site->call = call;
    site->out = kind_of_output(given);
    Py_INCREF(described[OWNER]);
    site->owner = described[OWNER];
    if (described[SCRATCH] != Py_None) {
        Py_INCREF(described[SCRATCH]);
        site->scratch = described[SCRATCH];
    }
    int complete = (site->attributes = PyTuple_New(count - ATTRIBUTES)) != NULL;
    for (Py_ssize_t i = ATTRIBUTES; complete && i < count; i++) {
        Py_INCREF(given[i]);
        PyTuple_SET_ITEM(site->attributes, i - ATTRIBUTES, given[i]);
    }
    npy_intp bytes = 0;
    for (int i = 0; complete && i < ARRAYS; i++) {
        complete = (site->arrays[i] = kind_of((PyArrayObject *)given[i])) != NULL;
        bytes += complete ? site->arrays[i]->bytes : 0;
    }
    site->long_enough = bytes >= LONG;
    if (complete)
        return site;
    free_site(site);
    return PyErr_Occurred() ? NULL : (struct site *)PyErr_NoMemory();
}

/* Whether two arrays share memory. */
static int meet(PyObject *a, npy_intp a_bytes, PyObject *b, npy_intp b_bytes)
{
    const char *from = PyArray_BYTES((PyArrayObject *)a), *other = PyArray_BYTES((PyArrayObject *)b);
    return from < other + b_bytes && other < from + a_bytes;
}

/* Whether an output that is somebody's can be written: it is data itself, or shares no memory with the others. */
static int may_be_written(const struct site *site, PyObject *const *given)
{
    const npy_intp bytes = site->arrays[DATA]->bytes;
    PyObject *out = given[OUT];
    if (site->out == ANOTHER && (!fits(out, site->arrays[DATA]) || meet(out, bytes, given[DATA], bytes)))
        return 0;
    return PyArray_ISWRITEABLE((PyArrayObject *)out) && !meet(out, bytes, given[INDICES], site->arrays[INDICES]->bytes)
           && !meet(out, bytes, given[UPDATES], site->arrays[UPDATES]->bytes);
}

/* Run a call on arrays that fit it. */
static PyObject *run(const struct site *site, PyObject *const *given)
{
    if (site->out != FRESH && !may_be_written(site, given))
        Py_RETURN_NONE;
    /* The table may let go of a site while others run: what is read of it, and kept, is read here. */
    PyObject *const owner = site->owner, *const scratch_of = site->scratch, *out;
    const struct scattergen_call *const call = site->call;
    const struct kind *const like = site->arrays[DATA];
    const int lets_others_run = site->long_enough;
    void *data = PyArray_DATA((PyArrayObject *)given[DATA]), *scratch = NULL;
    Py_INCREF(owner);
    Py_XINCREF(scratch_of);
    if (site->out == FRESH) {
        Py_INCREF(like->type);
        out = PyArray_NewFromDescr(&PyArray_Type, like->type, like->rank, like->shape, NULL, NULL, 0, NULL);
    } else {
        out = given[OUT];
        Py_INCREF(out);
        data = site->out == DATA_ITSELF ? NULL : data;
    }
    if (out && scratch_of) {
        PyObject *number = PyObject_CallNoArgs(scratch_of);
        scratch = number ? PyLong_AsVoidPtr(number) : NULL;
        Py_XDECREF(number);
        if (!scratch)
            Py_CLEAR(out);
    }
    Py_XDECREF(scratch_of);
    if (!out) {
        Py_DECREF(owner);
        return NULL;
    }
    void *to = PyArray_DATA((PyArrayObject *)out);
    const void *indices = PyArray_DATA((PyArrayObject *)given[INDICES]);
    const void *updates = PyArray_DATA((PyArrayObject *)given[UPDATES]);
    int64_t status;
    if (lets_others_run) {
        Py_BEGIN_ALLOW_THREADS
        status = scattergen_invoke(call, to, data, indices, updates, scratch);
        Py_END_ALLOW_THREADS
    } else {
        status = scattergen_invoke(call, to, data, indices, updates, scratch);
    }
    Py_DECREF(owner);
    if (status == -1)
        return out;
    Py_DECREF(out);
    Py_RETURN_NONE;
}

/* The table: sites by their arrays. A site lies in one of the WAYS places from its home on; the newest takes the
 * home of one that has to go. */
enum { PLACES = 1 << 12, WAYS = 8 };

static struct site *table[PLACES];

static size_t home_of(PyObject *const *given)
{
    uint64_t hash = (uint64_t)kind_of_output(given);
    for (int i = 0; i < ARRAYS; i++) {
        PyArrayObject *array = (PyArrayObject *)given[i];
        hash = (hash ^ (uintptr_t)PyArray_DESCR(array)) * UINT64_C(0x9E3779B97F4A7C15);
        for (int dim = 0; dim < PyArray_NDIM(array); dim++)
            hash = (hash ^ (uint64_t)PyArray_DIM(array, dim)) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return (size_t)(hash % PLACES);
}

/* Whether an attribute is the one of a site: the same object, or the same text or whole number. */
static int same(PyObject *kept, PyObject *given)
{
    if (kept == given)
        return 1;
    if (PyUnicode_CheckExact(kept) && PyUnicode_CheckExact(given))
        return PyUnicode_Compare(kept, given) == 0;
    if (!PyLong_CheckExact(kept) || !(PyLong_CheckExact(given) || PyArray_IsScalar(given, Integer)))
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
        const struct site *site = table[(home + way) % PLACES];
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
    size_t place = home;
    for (size_t way = 0; way < WAYS; way++) {
        const struct site *other = table[(home + way) % PLACES];
        if (!other || answers(other, given, count)) {
            place = (home + way) % PLACES;
            break;
        }
    }
    old = table[place];
    table[place] = site;
    free_site(old);
    Py_RETURN_NONE;
}

/* forget() → how many sites there were. */
static PyObject *forget(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    long found = 0;
    for (size_t place = 0; place < PLACES; place++) {
        struct site *site = table[place];
        table[place] = NULL;
        found += site != NULL;
        free_site(site);
    }
    return PyLong_FromLong(found);
}

static const char SITE[] = "scattergen.site";

static void free_capsule(PyObject *capsule)
{
    free_site(PyCapsule_GetPointer(capsule, SITE));
}

static PyObject *at_site(PyObject *capsule, PyObject *const *given, Py_ssize_t count)
{
    const struct site *site = PyCapsule_GetPointer(capsule, SITE);
    if (count != ATTRIBUTES || kind_of_output(given) != site->out)
        Py_RETURN_NONE;
    for (int i = 0; i < ARRAYS; i++)
        if (!fits(given[i], site->arrays[i]))
            Py_RETURN_NONE;
    return run(site, given);
}

static PyMethodDef at_site_def = {"at_site", (PyCFunction)(void (*)(void))at_site, METH_FASTCALL, NULL};

/* serve(pointer, owner, scratch, data, indices, updates, out) → a function of arrays like these four. */
static PyObject *serve(PyObject *module, PyObject *const *described, Py_ssize_t count)
{
    (void)module;
    if (count != DESCRIBED + ATTRIBUTES)
        return PyErr_Format(PyExc_TypeError, "serve takes %d arguments", DESCRIBED + ATTRIBUTES);
    struct site *site = new_site(described, described + DESCRIBED, ATTRIBUTES);
    PyObject *capsule = site ? PyCapsule_New(site, SITE, free_capsule) : NULL;
    if (!capsule) {
        free_site(site);
        return NULL;
    }
    PyObject *function = PyCFunction_New(&at_site_def, capsule);
    Py_DECREF(capsule);
    return function;
}

/* A call whose arrays stay where they are. */
struct bound {
    const struct scattergen_call *call;
    void *out;
    const void *data, *indices, *updates;
    PyObject *result, *failed, *owners;
    int long_enough;
};

static const char BOUND[] = "scattergen.bound";

static void free_bound(PyObject *capsule)
{
    struct bound *bound = PyCapsule_GetPointer(capsule, BOUND);
    Py_XDECREF(bound->result);
    Py_XDECREF(bound->failed);
    Py_XDECREF(bound->owners);
    PyMem_Free(bound);
}

static PyObject *run_bound(PyObject *capsule, PyObject *none)
{
    (void)none;
    const struct bound *b = PyCapsule_GetPointer(capsule, BOUND);
    int64_t status;
    if (b->long_enough) {
        Py_BEGIN_ALLOW_THREADS
        status = scattergen_invoke(b->call, b->out, b->data, b->indices, b->updates, NULL);
        Py_END_ALLOW_THREADS
    } else {
        status = scattergen_invoke(b->call, b->out, b->data, b->indices, b->updates, NULL);
    }
    if (status != -1)
        return PyObject_CallNoArgs(b->failed);
    Py_INCREF(b->result);
    return b->result;
}

static PyMethodDef run_bound_def = {"run_bound", run_bound, METH_NOARGS, NULL};

/* bind_call(result, failed, owners, bytes, pointer, out, data, indices, updates) → a function of no arguments: runs the call
 * on these addresses and returns `result`, or else what `failed` returns or raises. `owners` are kept. */
static PyObject *bind_call(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 9)
        return PyErr_Format(PyExc_TypeError, "bind_call takes 9 arguments");
    void *address[5];
    for (int i = 0; i < 5; i++)
        address[i] = PyLong_AsVoidPtr(given[4 + i]);
    const Py_ssize_t bytes = PyLong_AsSsize_t(given[3]);
    struct bound *bound = PyErr_Occurred() ? NULL : PyMem_Malloc(sizeof *bound);
    if (!bound)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    *bound = (struct bound){address[0], address[1], address[2], address[3], address[4],
                            given[0],   given[1],   given[2],   bytes >= LONG};
    for (int i = 0; i < 3; i++)
        Py_INCREF(given[i]);
    PyObject *capsule = PyCapsule_New(bound, BOUND, free_bound);
    if (!capsule) {
        for (int i = 0; i < 3; i++)
            Py_DECREF(given[i]);
        PyMem_Free(bound);
        return NULL;
    }
    PyObject *function = PyCFunction_New(&run_bound_def, capsule);
    Py_DECREF(capsule);
    return function;
}

#define FAST(function) {#function, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef functions[] = {FAST(recall), FAST(remember), {"forget", forget, METH_NOARGS, NULL}, FAST(serve),
                                  FAST(bind_call)};

/* Append the functions above to a list of Python's; -1 where NumPy is not the one that this was built for. */
static int64_t scattergen_functions(uintptr_t list)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    int failed = _import_array() < 0;
    for (size_t i = 0; !failed && i < sizeof functions / sizeof *functions; i++) {
        PyObject *function = PyCFunction_New(&functions[i], NULL);
        failed = !function || PyList_Append((PyObject *)list, function) < 0;
        Py_XDECREF(function);
    }
    PyErr_Clear();
    PyGILState_Release(state);
    return failed ? -1 : 0;
}
