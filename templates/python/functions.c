#define FAST(function) {#function, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef functions[] = {FAST(recall), FAST(remember), {"forget", forget, METH_NOARGS, NULL}, FAST(serve),
                                  FAST(bind_call), FAST(unwritten), FAST(keep_memory)};

/* Append the functions above to a list of Python's; -1 where NumPy is not the one that this was built for. */
static int64_t scattergen_functions(uintptr_t list)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    int failed = _import_array() < 0 || !(policy_capsule = PyCapsule_New(&policy, "mem_handler", NULL));
    for (size_t i = 0; !failed && i < sizeof functions / sizeof *functions; i++) {
        PyObject *function = PyCFunction_New(&functions[i], NULL);
        failed = !function || PyList_Append((PyObject *)list, function) < 0;
        Py_XDECREF(function);
    }
    PyErr_Clear();
    PyGILState_Release(state);
    return failed ? -1 : 0;
}
