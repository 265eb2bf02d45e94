/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the values in a graph point at.
 *
 * A driver query costs 50 ns for an address that it knows and 130 ns for one that it does not, and a large graph holds
 * the same few addresses hundreds of thousands of times. So each distinct value is looked up once, and each allocation
 * asked for once; the answer "no pointer" is kept like any other.
 */
#include "config.h"

#include "reading-private.h"

static guint32
add_allocation (MemraCensus *census, const MemraAllocation *allocation)
{
  guint32 number = census->allocations->len;

  g_array_append_val (census->allocations, *allocation);
  _memra_ranges_insert (&census->reading->ranges, allocation->start, allocation->end, number);
  return number;
}

/* All that tells one allocation from another. Each answer has 8 bytes of its own, zero where there is none: the driver
 * writes answers of different widths, and leaves some of them alone. */
typedef struct
{
  guint64 id, range_start, range_size, memory_type, mapping_start, mapping_size, block_id;
} Answers;

static McuResult
ask (MemraDriver *driver, gboolean *reduced, guint64 address, Answers *answers)
{
  int attributes[] = { MCU_POINTER_BUFFER_ID,      MCU_POINTER_RANGE_START_ADDR,  MCU_POINTER_RANGE_SIZE,
                       MCU_POINTER_MEMORY_TYPE,    MCU_POINTER_MAPPING_BASE_ADDR, MCU_POINTER_MAPPING_SIZE,
                       MCU_POINTER_MEMORY_BLOCK_ID };
  void *slots[] = { &answers->id,          &answers->range_start,   &answers->range_size,
                    &answers->memory_type, &answers->mapping_start, &answers->mapping_size,
                    &answers->block_id };
  const guint all = G_N_ELEMENTS (attributes), few = 4;
  McuResult result;

  *answers = (Answers){ 0 };
  result = driver->cu.cuPointerGetAttributes (*reduced ? few : all, attributes, slots, address);
  if (result == MCU_ERROR_INVALID_VALUE && !*reduced)
    {
      /* An unknown address is no error to this call, but an attribute of a later driver is. */
      *answers = (Answers){ 0 };
      result = driver->cu.cuPointerGetAttributes (few, attributes, slots, address);
      *reduced = result == MCU_SUCCESS;
    }
  if (result == MCU_ERROR_INVALID_VALUE)
    {
      *answers = (Answers){ 0 };
      return MCU_SUCCESS;
    }
  return result;
}

/* An allocation from the driver's answers. Of a reserved range only the mapping counts, which has an identity of its
 * own; of the block that small allocations share only the allocation. */
static void
describe (MemraAllocation *allocation, const Answers *answers, guint64 address, const MemraUser *user)
{
  allocation->range_start = answers->range_start;
  allocation->range_size = answers->range_size;
  allocation->start = answers->range_start;
  allocation->end = answers->range_start + answers->range_size;
  if (answers->mapping_size > 0)
    {
      allocation->start = MAX (allocation->start, answers->mapping_start);
      allocation->end = MIN (allocation->end, answers->mapping_start + answers->mapping_size);
    }
  if (address < allocation->start || address >= allocation->end)
    {
      allocation->start = address;
      allocation->end = address + 1;
    }
  allocation->id = answers->id;
  allocation->block_id = answers->block_id;
  allocation->host = (guint32) answers->memory_type == MCU_MEMORYTYPE_HOST;
  allocation->user = user->user;
  allocation->user_index = user->index;
  allocation->user_argument = user->argument;
  allocation->user_at = user->at;
  allocation->user_offset = address - allocation->start;
}

gboolean
_memra_allocation_read (MemraDriver *driver, guint64 address, const MemraUser *user, MemraAllocation *allocation,
                        GError **error)
{
  gboolean reduced = FALSE;
  Answers answers;
  McuResult result = ask (driver, &reduced, address, &answers);

  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (driver, error, result, "Could not ask what is at address 0x%" G_GINT64_MODIFIER "x",
                                    address);
  *allocation = (MemraAllocation){ 0 };
  if (answers.id != 0)
    describe (allocation, &answers, address, user);
  return TRUE;
}

MemraUser
_memra_kernel_user (const MemraKernelNode *kernel, guint32 index, guint32 at)
{
  const MemraFunction *function = kernel->function;
  MemraUser user = { .user = MEMRA_USER_KERNEL, .index = index, .at = at };

  while (user.argument + 1 < function->n_parameters && function->parameters[user.argument + 1].offset <= at)
    user.argument++;
  if (function->n_parameters > 0)
    user.at -= function->parameters[user.argument].offset;
  return user;
}

gboolean
_memra_reading_find (MemraCensus *census, guint64 address, const MemraUser *user, guint32 *buffer, guint64 *offset,
                     GError **error)
{
  MemraReading *reading = census->reading;
  const MemraRange *range;
  Answers answers;
  McuResult result;

  *buffer = MEMRA_NO_BUFFER;
  *offset = 0;
  if (!_memra_may_be_address (address))
    return TRUE;
  if (G_UNLIKELY (!_memra_map_lookup (&reading->values, address, buffer)))
    {
      range = _memra_ranges_find (&reading->ranges, address);
      if (range != NULL)
        *buffer = range->value;
      else
        {
          result = ask (reading->driver, &reading->attributes_reduced, address, &answers);
          if (result != MCU_SUCCESS)
            return _memra_driver_set_error (reading->driver, error, result,
                                            "Could not ask what is at address 0x%" G_GINT64_MODIFIER "x", address);
          if (answers.id != 0)
            {
              MemraAllocation allocation = { 0 };

              describe (&allocation, &answers, address, user);
              *buffer = add_allocation (census, &allocation);
            }
        }
      _memra_map_insert (&reading->values, address, *buffer);
    }
  if (*buffer != MEMRA_NO_BUFFER)
    *offset = address - g_array_index (census->allocations, MemraAllocation, *buffer).start;
  return TRUE;
}

guint32
_memra_reading_add_graph_memory (MemraCensus *census, guint64 address, guint64 size, guint32 number)
{
  MemraReading *reading = census->reading;
  MemraAllocation allocation = { .start = address,
                                 .end = address + size,
                                 .range_start = address,
                                 .range_size = size,
                                 .user = MEMRA_USER_NODE,
                                 .user_index = number };

  /* A graph may hand out an address again after it was freed: from here on it is the new allocation's. */
  _memra_map_clear (&reading->values);
  return add_allocation (census, &allocation);
}
