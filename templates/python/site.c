/* What an array has to be: of NumPy's own class, of this dtype (see `same_type`), of this shape, and in C order or of
 * these strides (under a dim of size 1 any stride is in C order). Its elements lie in the bytes from `first` to before
 * `end`, as seen from its address. */
struct kind {
    PyArray_Descr *type;
    npy_intp first, end;
    int rank, in_c_order;
    npy_intp shape_and_strides[];
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
    int is_kept;     /* the memory of the output, see memory.c */
    struct kind *arrays[ARRAYS];
};

enum { FRESH, DATA_ITSELF, ANOTHER };

/* Bytes of a call's arrays from which on the interpreter is let go: with fewer, that takes as long as the kernel. */
enum { LONG = 1 << 12 };

static struct kind *kind_of(PyArrayObject *array)
{
    const int rank = PyArray_NDIM(array);
    struct kind *kind = PyMem_Malloc(sizeof *kind + 2 * (size_t)rank * sizeof(npy_intp));
    if (!kind)
        return NULL;
    kind->type = PyArray_DESCR(array);
    Py_INCREF(kind->type);
    kind->rank = rank;
    kind->in_c_order = PyArray_IS_C_CONTIGUOUS(array) != 0;
    kind->first = 0;
    kind->end = PyArray_ITEMSIZE(array);
    for (int i = 0; i < rank; i++) {
        const npy_intp stride = PyArray_STRIDE(array, i), reach = (PyArray_DIM(array, i) - 1) * stride;
        *(reach < 0 ? &kind->first : &kind->end) += reach;
        kind->shape_and_strides[i] = PyArray_DIM(array, i);
        kind->shape_and_strides[rank + i] = stride;
    }
    if (PyArray_SIZE(array) == 0)
        kind->first = kind->end = 0;
    return kind;
}

/* Whether a dtype is one of NumPy's own numbers, in this machine's byte order. */
static int is_plain(const PyArray_Descr *type)
{
    return PyTypeNum_ISNUMBER(type->type_num) && PyArray_ISNBO(type->byteorder);
}

/* Whether two dtypes are the same object, or copies of the same number's: NumPy makes them for arrays that were
 * pickled, and for ones with metadata. */
static int same_type(const PyArray_Descr *one, const PyArray_Descr *other)
{
    return one == other || (one->type_num == other->type_num && is_plain(one) && is_plain(other));
}

static int fits(PyObject *object, const struct kind *kind)
{
    PyArrayObject *array = (PyArrayObject *)object;
    const int rank = kind->rank;
    if (!PyArray_CheckExact(object) || PyArray_NDIM(array) != rank || !same_type(PyArray_DESCR(array), kind->type)
        || (kind->in_c_order && !PyArray_IS_C_CONTIGUOUS(array)))
        return 0;
    for (int i = 0; i < rank; i++)
        if (PyArray_DIM(array, i) != kind->shape_and_strides[i])
            return 0;
    for (int i = 0; !kind->in_c_order && i < rank; i++)
        if (PyArray_STRIDE(array, i) != kind->shape_and_strides[rank + i])
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
        bytes += PyArray_NBYTES((PyArrayObject *)given[i]);
    }
    site->long_enough = bytes >= LONG;
    site->is_kept = PyArray_NBYTES((PyArrayObject *)given[DATA]) >= KEPT_FROM;
    if (complete)
        return site;
    free_site(site);
    return PyErr_Occurred() ? NULL : (struct site *)PyErr_NoMemory();
}

/* Whether two arrays may share memory. */
static int meet(PyObject *a, const struct kind *kind_a, PyObject *b, const struct kind *kind_b)
{
    const char *at_a = PyArray_BYTES((PyArrayObject *)a), *at_b = PyArray_BYTES((PyArrayObject *)b);
    return at_a + kind_a->first < at_b + kind_b->end && at_b + kind_b->first < at_a + kind_a->end;
}

/* Whether an output that is somebody's can be written: it is data itself, or shares no memory with the others. */
static int may_be_written(const struct site *site, PyObject *const *given)
{
    struct kind *const *kind = site->arrays;
    PyObject *out = given[OUT];
    if (site->out == ANOTHER && (!fits(out, kind[DATA]) || meet(out, kind[DATA], given[DATA], kind[DATA])))
        return 0;
    return PyArray_ISWRITEABLE((PyArrayObject *)out) && !meet(out, kind[DATA], given[INDICES], kind[INDICES])
           && !meet(out, kind[DATA], given[UPDATES], kind[UPDATES]);
}

/* Run a call on arrays that fit it. */
static PyObject *run(const struct site *site, PyObject *const *given)
{
    if (site->out != FRESH && !may_be_written(site, given))
        Py_RETURN_NONE;
    /* The table may let go of a site while others run: what is read of it, and kept, is read here. */
    PyObject *const owner = site->owner, *const scratch_of = site->scratch, *out;
    const struct scattergen_call *const call = site->call;
    struct kind *const like = site->arrays[DATA];
    const int lets_others_run = site->long_enough;
    void *data = PyArray_DATA((PyArrayObject *)given[DATA]), *scratch = NULL;
    Py_INCREF(owner);
    Py_XINCREF(scratch_of);
    if (site->out == FRESH) {
        PyArray_Descr *type = PyArray_DESCR((PyArrayObject *)given[DATA]); /* with the metadata of data */
        npy_intp *shape = like->shape_and_strides, *strides = like->in_c_order ? NULL : shape + like->rank;
        if (site->is_kept) {
            out = new_output((PyArrayObject *)given[DATA], type, like->in_c_order ? NPY_CORDER : NPY_KEEPORDER);
        } else {
            Py_INCREF(type);
            out = PyArray_NewFromDescr(&PyArray_Type, type, like->rank, shape, strides, NULL, 0, NULL);
        }
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
