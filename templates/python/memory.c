/* Memory of outputs that are not small. The system clears every page of fresh memory, and C libraries soon hand back
 * what is freed: either can take several times as long as the scatter. So what outputs held is kept for the next ones,
 * up to some bytes. To NumPy this is the memory policy of these arrays. As much as C libraries keep anyway stays as it
 * is; the rest is lent to the system, which takes it when it needs memory. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Bytes from which on outputs are kept: where GNU's C library begins to map memory for each of its own. Large ones begin
 * at a huge page, and are lent beyond so many bytes. */
enum { KEPT_FROM = 128 << 10, LARGE = 4 << 20, HUGE_PAGE = 2 << 20, STAYS = 64 << 20 };

/* What lies before an array's elements. By its size they begin elsewhere in a page than those of NumPy's own large
 * arrays: some C libraries copy ten times as slowly between addresses that are 1 to 31 bytes apart modulo 4096. */
union head {
    struct {
        union head *next; /* the block that was kept before this one */
        size_t bytes;     /* of the block, this head included */
        int is_lent;      /* to the system, but for its first pages */
    };
    char size[64];
};

/* Blocks that no array holds. Many medium ones must not push out a large one, so each kind has a shelf of its own. */
struct shelf {
    union head *newest;
    const size_t most_blocks, most_bytes;
};

static struct shelf medium = {NULL, 32, 32 << 20}, large = {NULL, 8, SIZE_MAX};
static size_t most_kept; /* bytes on both together, at most */
static char busy;        /* whether a thread looks at them; others do not wait, and ask the C library */

static struct shelf *shelf_of(size_t bytes)
{
    return bytes < LARGE ? &medium : &large;
}

/* What the address of a block is a multiple of; that of a medium one as everywhere in C: copies are quickest between
 * arrays that lie alike within lines. */
static size_t alignment_of(size_t bytes)
{
    return bytes < LARGE ? sizeof(max_align_t) : HUGE_PAGE;
}

static int enter(void)
{
    return !__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE);
}

static void leave(void)
{
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

/* Take the newest kept block that has room for so many bytes, and at most half of them to spare. */
static union head *take_block(size_t bytes)
{
    if (bytes < KEPT_FROM || !enter())
        return NULL;
    union head **place = &shelf_of(bytes)->newest, *block;
    while ((block = *place) && (block->bytes < bytes || block->bytes - bytes > bytes / 2))
        place = &block->next;
    if (block)
        *place = block->next;
    leave();
    return block;
}

static union head *new_block(size_t bytes)
{
    void *block = NULL;
    if (posix_memalign(&block, alignment_of(bytes), bytes) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= LARGE)
        madvise(block, bytes, MADV_HUGEPAGE);
#endif
    *(union head *)block = (union head){{.bytes = bytes}};
    return block;
}

/* Let go of a block and all that were kept before it. */
static void free_blocks(union head *block)
{
    while (block) {
        union head *before = block->next;
        free(block);
        block = before;
    }
}

static void lend(union head *block)
{
#ifdef MADV_FREE
    if (!block->is_lent)
        madvise((char *)block + HUGE_PAGE, block->bytes / HUGE_PAGE * HUGE_PAGE - HUGE_PAGE, MADV_FREE);
#endif
    block->is_lent = 1;
}

/* Lend what a shelf has beyond its newest bytes. Cut off what is more than `room`, or than the shelf takes, and put it
 * in front of `rest`; return the bytes that stay. */
static size_t cut_off(struct shelf *shelf, size_t room, union head **rest)
{
    size_t blocks = 0, bytes = 0;
    room = room < shelf->most_bytes ? room : shelf->most_bytes;
    for (union head **place = &shelf->newest, *block; (block = *place); place = &block->next) {
        if (++blocks > shelf->most_blocks || bytes + block->bytes > room) {
            union head *last = block;
            *place = NULL;
            while (last->next)
                last = last->next;
            last->next = *rest;
            *rest = block;
            break;
        }
        bytes += block->bytes;
        if (bytes > STAYS)
            lend(block);
    }
    return bytes;
}

/* Keep to the limits. Return what is too much; who is busy no longer frees it. */
static union head *tidied(void)
{
    union head *rest = NULL;
    const size_t bytes = cut_off(&medium, most_kept, &rest);
    cut_off(&large, most_kept - bytes, &rest);
    return rest;
}

/* Have at most so many bytes kept from now on, and let go of the rest. It is for one block on or off a shelf that a
 * thread is busy, but in a child that was forked meanwhile, where it is forever. */
static void keep_at_most(size_t bytes)
{
    for (int tries = 0; !enter(); tries++)
        if (tries == 1 << 20)
            return;
    most_kept = bytes;
    union head *rest = tidied();
    leave();
    free_blocks(rest);
}

static void *policy_malloc(void *none, size_t size)
{
    (void)none;
    union head *block = take_block(size + sizeof *block);
    if (!block)
        block = new_block(size + sizeof *block);
    if (!block) { /* what is kept for others may be what is missing */
        const size_t most = most_kept;
        keep_at_most(0);
        keep_at_most(most);
        block = new_block(size + sizeof *block);
    }
    return block ? block + 1 : NULL;
}

static void *policy_calloc(void *none, size_t count, size_t size)
{
    void *elements = policy_malloc(none, count * size);
    return elements ? memset(elements, 0, count * size) : NULL;
}

static void *policy_realloc(void *none, void *elements, size_t size)
{
    (void)none;
    union head *block = realloc(elements ? (union head *)elements - 1 : NULL, size + sizeof *block);
    if (!block)
        return NULL;
    block->bytes = size + sizeof *block;
    return block + 1;
}

static void policy_free(void *none, void *elements, size_t size)
{
    (void)none, (void)size;
    union head *block = elements ? (union head *)elements - 1 : NULL;
    const int fits = block && block->bytes >= KEPT_FROM && block->bytes <= most_kept;
    /* what has grown in place may begin anywhere */
    if (!fits || (uintptr_t)block % alignment_of(block->bytes) != 0 || !enter()) {
        free(block);
        return;
    }
    struct shelf *shelf = shelf_of(block->bytes);
    block->is_lent = 0;
    block->next = shelf->newest;
    shelf->newest = block;
    union head *rest = tidied();
    leave();
    free_blocks(rest);
}

static PyDataMem_Handler policy = {"scattergen", 1, {NULL, policy_malloc, policy_calloc, policy_realloc, policy_free}};
static PyObject *policy_capsule;

/* Return an array like `data` of another dtype, or the same, and in its order or C's, that nobody has written to. Where
 * there is no memory for it, or the program has a policy of its own, NumPy is asked in its own way. */
static PyObject *new_output(PyArrayObject *data, PyArray_Descr *type, NPY_ORDER order)
{
    const int with_policy = most_kept > 0 && PyArray_NBYTES(data) >= KEPT_FROM;
    PyObject *before = with_policy ? PyDataMem_SetHandler(policy_capsule) : NULL, *out = NULL;
    if (before == PyDataMem_DefaultHandler) {
        Py_INCREF(type);
        out = PyArray_NewLikeArray(data, order, type, 0);
        PyErr_Clear();
    }
    if (before) {
        Py_XDECREF(PyDataMem_SetHandler(before));
        Py_DECREF(before);
    }
    PyErr_Clear();
    if (out)
        return out;
    Py_INCREF(type);
    return PyArray_NewLikeArray(data, order, type, 0);
}

/* unwritten(data, dtype, in_its_order) → an array like `data`, see above. */
static PyObject *unwritten(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 3 || !PyArray_Check(given[0]) || !PyArray_DescrCheck(given[1]))
        return PyErr_Format(PyExc_TypeError, "unwritten takes an array, a dtype and a bool");
    return new_output((PyArrayObject *)given[0], (PyArray_Descr *)given[1],
                      given[2] == Py_True ? NPY_KEEPORDER : NPY_CORDER);
}

/* keep_memory(bytes): keep as much of what large outputs held, at most. */
static PyObject *keep_memory(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    const size_t bytes = count == 1 ? PyLong_AsSize_t(given[0]) : 0;
    if (PyErr_Occurred())
        return NULL;
    keep_at_most(bytes);
    Py_RETURN_NONE;
}
