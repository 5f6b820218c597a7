/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: libxml2, loaded when XML is read. */
#pragma once

#include "base/base.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>

/* What murphy calls of it, under its own names. */
struct xml_library {
  __typeof__(&xmlCreateMemoryParserCtxt) create;
  __typeof__(&xmlCtxtUseOptions) use_options;
  __typeof__(&xmlParseDocument) parse;
  __typeof__(&xmlStopParser) stop;
  __typeof__(&xmlFreeParserCtxt) free;
  __typeof__(&xmlResetLastError) forget_error;
  __typeof__(&xmlSetStructuredErrorFunc) set_error_handler;
  __typeof__(&__xmlStructuredError) error_handler;
  __typeof__(&__xmlStructuredErrorContext) error_context;
};

/*
 * The library, which stays loaded. 0; -ENOMEM; -ELIBACC, with a message, if it is not there or is another one. From any
 * thread.
 */
int xml_library(const struct xml_library **ret, struct err *e) MUST_USE;
