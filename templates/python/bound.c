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

/* bind_call(result, failed, owners, bytes, pointer, out, data, indices, updates) → a function of no arguments, which
 * runs the call on these addresses and returns `result`, or else what `failed` returns or raises. `owners` are kept. */
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
