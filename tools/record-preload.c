/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether LD_PRELOAD can bring the recorder into a program. */
#include "config.h"

#include "recording.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_PARTS   65536 /* bytes of a program's headers */
#define MAX_SCRIPTS 4     /* a script whose interpreter is a script, and so on: as the kernel does */

typedef struct
{
  Elf64_Ehdr header;
  char interpreter[256]; /* of the dynamic linker, "" for none */
} Program;

static gboolean
read_at (int fd, gpointer to, gsize size, guint64 offset)
{
  return pread (fd, to, size, (off_t) offset) == (gssize) size;
}

static gboolean
read_program (int fd, Program *program)
{
  memset (program, 0, sizeof *program);
  if (!read_at (fd, &program->header, sizeof program->header, 0) || memcmp (program->header.e_ident, ELFMAG, SELFMAG) != 0)
    return FALSE;
  /* The kernel runs no others either. */
  if (program->header.e_ident[EI_CLASS] != ELFCLASS64 || program->header.e_phentsize != sizeof (Elf64_Phdr)
      || program->header.e_phnum > MAX_PARTS / sizeof (Elf64_Phdr))
    return TRUE;
  for (guint i = 0; i < program->header.e_phnum; i++)
    {
      Elf64_Phdr part;

      if (!read_at (fd, &part, sizeof part, program->header.e_phoff + (guint64) i * sizeof part))
        return TRUE;
      if (part.p_type == PT_INTERP && part.p_filesz < sizeof program->interpreter
          && !read_at (fd, program->interpreter, part.p_filesz, part.p_offset))
        program->interpreter[0] = '\0';
    }
  return TRUE;
}

/* The next program of a script: "#!/bin/sh -e", "#!/usr/bin/env python3". (transfer full) (nullable) */
static char *
dup_interpreter (const char *line)
{
  g_auto (GStrv) words = NULL;
  g_autofree char *base = NULL;
  g_autofree char *copy = g_strdup (line + 2);

  words = g_strsplit_set (g_strstrip (copy), " \t", -1);
  if (words[0] == NULL || *words[0] == '\0')
    return NULL;
  base = g_path_get_basename (words[0]);
  if (strcmp (base, "env") == 0)
    for (guint i = 1; words[i] != NULL; i++)
      if (*words[i] != '\0' && *words[i] != '-' && strchr (words[i], '=') == NULL)
        return g_find_program_in_path (words[i]);
  return g_strdup (words[0]);
}

static char *
judge_program (const Program *program, gboolean *harmful)
{
  g_autofree char *linker = g_path_get_basename (program->interpreter);
  Program own;
  int fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  gboolean known = fd >= 0 && read_program (fd, &own);

  if (fd >= 0)
    close (fd);
  if (known
      && (program->header.e_ident[EI_CLASS] != own.header.e_ident[EI_CLASS] || program->header.e_machine != own.header.e_machine))
    return g_strdup ("it is for another kind of machine than the recorder");
  if (program->interpreter[0] == '\0')
    return g_strdup ("it is linked statically, so nothing can be loaded into it");
  if (g_str_has_prefix (linker, "ld-musl"))
    {
      *harmful = TRUE;
      return g_strdup ("it runs on another C library (musl) than the recorder");
    }
  return NULL;
}

static gboolean
gains_privileges (int fd)
{
  struct stat info;

  if (fstat (fd, &info) != 0)
    return FALSE;
  if (((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid ())
      || ((info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0 && info.st_gid != getgid ()))
    return TRUE;
  return getuid () != 0 && fgetxattr (fd, "security.capability", NULL, 0) > 0;
}

static char *
judge (const char *path, guint depth, gboolean *harmful)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe is no program, and would be waited for */
  char start[256] = "";
  char *newline, *obstacle = NULL;
  Program program;

  if (fd < 0)
    return NULL; /* running it will tell */
  if (gains_privileges (fd))
    obstacle = g_strdup ("it gains privileges (set-uid, set-gid or capabilities), so the system loads nothing into it");
  else if (read_program (fd, &program))
    obstacle = judge_program (&program, harmful);
  else if (pread (fd, start, sizeof start - 1, 0) > 2 && start[0] == '#' && start[1] == '!' && depth < MAX_SCRIPTS)
    {
      g_autofree char *next = NULL;

      newline = strchr (start, '\n');
      if (newline != NULL)
        *newline = '\0';
      next = dup_interpreter (start);
      obstacle = next != NULL ? judge (next, depth + 1, harmful) : NULL;
    }
  close (fd);
  return obstacle;
}

char *
tool_preload_obstacle (const char *program, gboolean *harmful)
{
  g_autofree char *path = strchr (program, '/') != NULL ? g_strdup (program) : g_find_program_in_path (program);

  *harmful = FALSE;
  return path != NULL ? judge (path, 0, harmful) : NULL;
}
