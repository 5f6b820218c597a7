/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document that cannot be read has no root, and who asks for it asks NULL.
 *
 * setup: printf '<list><t>one</t><t>two</t></list>\n' > list.xml
 * args: list.xml
 * build: -I/usr/include/libxml2 -lxml2
 * expect: crash
 */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  xmlDoc *doc = xmlReadFile(argv[1], NULL, XML_PARSE_NONET);
#ifdef FIXED
  if (!doc) {
    fprintf(stderr, "%s: cannot be read\n", argv[1]);
    return 1;
  }
#endif
  int n = 0;
  for (xmlNode *c = doc->children->children; c; c = c->next)
    if (c->type == XML_ELEMENT_NODE) {
      xmlChar *text = xmlNodeGetContent(c);
#ifdef FIXED
      if (!text) {
        fprintf(stderr, "no memory\n");
        xmlFreeDoc(doc);
        return 1;
      }
#endif
      printf("%d %s\n", ++n, (const char *)text);
      xmlFree(text);
    }
  xmlFreeDoc(doc);
  xmlCleanupParser();
  return fflush(stdout) ? 1 : 0;
}
