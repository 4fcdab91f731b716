/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The constraint catalogue: whose rules calls are held against, what the rules are, and what a call breaks, before
 * anything is prepared or run. Every function may be called from any thread. Strings are owned by the library and stay
 * valid until the process ends, unless said otherwise.
 */
#ifndef ACL_ATTN_RULES_H_
#define ACL_ATTN_RULES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Profiles: a product's rules, or only what the mathematics and the safety of memory need (host). -------------- */

typedef enum {
    ACL_ATTN_PROFILE_HOST = 0,
    ACL_ATTN_PROFILE_ASCEND950 = 1, /* the default */
    ACL_ATTN_PROFILE_ASCEND910B = 2,
    ACL_ATTN_PROFILE_ASCEND910_93 = 3,
    ACL_ATTN_PROFILE_COUNT = 4,
    ACL_ATTN_PROFILE_UNSET = -1 /* for setters and options: what holds without a choice of the caller's */
} aclAttnProfile;

/* "host", "ascend950", "ascend910b", "ascend910_93"; NULL for a number that is no profile. */
ACL_FUNC_VISIBILITY const char *aclAttnGetProfileName(aclAttnProfile profile);
/* ACL_ERROR_INVALID_PARAM for a name that no profile has. */
ACL_FUNC_VISIBILITY aclError aclAttnFindProfile(const char *name, aclAttnProfile *profile);
/* The profile that phase one uses for calls prepared under the device: what was set here, or else the environment
 * variable ACL_ATTN_PROFILE as it was at first use, or else ascend950. Phase one refuses calls while the variable holds
 * a name that no profile has and nothing was set here; so it does with ACL_ATTN_RULES below. */
ACL_FUNC_VISIBILITY aclError aclAttnGetProfile(int32_t deviceId, aclAttnProfile *profile);
/* For calls prepared from now on. */
ACL_FUNC_VISIBILITY aclError aclAttnSetProfile(int32_t deviceId, aclAttnProfile profile);

/* For calls that the calling thread prepares from now on, whatever its device; ACL_ATTN_PROFILE_UNSET goes back to the
 * device's. For programs that run calls on another library and ask this one about them. */
ACL_FUNC_VISIBILITY aclError aclAttnSetThreadProfile(aclAttnProfile profile);

/* The edition of the products' rules: the vendor's page, or the newest sources where they differ from it. */
typedef enum {
    ACL_ATTN_RULES_PAGE = 0, /* the default */
    ACL_ATTN_RULES_NEWEST = 1,
    ACL_ATTN_RULES_UNSET = -1
} aclAttnRules;

/* What was set here, or else what the environment variable ACL_ATTN_RULES ("page" or "newest") was at first use. */
ACL_FUNC_VISIBILITY aclAttnRules aclAttnGetRules(void);
ACL_FUNC_VISIBILITY aclError aclAttnSetRules(aclAttnRules rules);

/* --- The catalogue. ----------------------------------------------------------------------------------------------- */

typedef struct {
    const char *op;        /* "fused_infer_attention_score", "sparse_flash_mla", "sparse_flash_mla_metadata",
                            * "kv_quant_sparse_attn_sharedkv", "kv_quant_sparse_attn_sharedkv_metadata" */
    const char *id;        /* "MASK-C-06", "SMLA-010", "KVQ-M04"; those of the host target begin with "HOST-" */
    const char *group;     /* "AttentionMask" */
    const char *tier;      /* the catalogue's degree: "single", "existence", "consistency", "cross" */
    const char *stage;     /* when it is looked at: "front", "parser", "single", "existence", "cross", "consistency" in
                            * phase one; "run" when the call runs; "" for rules that are not looked at */
    const char *parameter; /* the one that it is about, or several joined by ", " */
    const char *text;      /* what it wants; of the parameter, for the sparse operators */
    const char *absence;   /* why the library has no check of it; NULL for rules that it checks */
    uint32_t profiles;     /* bit (1 << aclAttnProfile) of each profile that it binds */
    uint32_t revisions;    /* bit (1 << aclAttnRules) of each edition that has it */
    aclnnStatus status;    /* what phase one, or in stage "run" the next synchronisation, returns for a call that
                            * breaks it; 0 for rules that no call breaks */
} aclAttnRule;

ACL_FUNC_VISIBILITY int32_t aclAttnGetRuleCount(void);
/* Rules in the order in which they are looked at, operator by operator; those without a check come last. An id may
 * stand more than once: where profiles look at it at different stages, where it is about several parameters, and where
 * operators share one of the host target's. */
ACL_FUNC_VISIBILITY aclError aclAttnGetRule(int32_t index, aclAttnRule *rule);

/* --- What is wrong with a call. ----------------------------------------------------------------------------------- */

typedef struct {
    const char *rule;         /* its id */
    const char *parameter;
    const char *expected;
    const char *got;
    const char *fix;          /* "" if there is nothing to add */
    const char *message;      /* all of it as one sentence */
    aclnnStatus status;
    uint32_t acceptedBy;      /* bit of each profile under which the whole call would be accepted */
    bool isTargetLimit;       /* the profile allows it; the host target does not do it */
} aclAttnProblem;

/* The problem for which this thread's last call into the library was refused; strings stay valid until the thread's
 * next refusal. false if the last failure broke no rule, or there was none. */
ACL_FUNC_VISIBILITY bool aclAttnGetRecentProblem(aclAttnProblem *problem);

typedef struct {
    int32_t version;        /* of the entry point, 1 to 5 */
    aclAttnProfile profile; /* or ACL_ATTN_PROFILE_UNSET: the thread's device's */
    aclAttnRules rules;     /* or ACL_ATTN_RULES_UNSET: the one in force */
    bool lengthsHaveNoValues; /* as ...GetMaxWorkspaceSize does */
} aclAttnCheckOptions;

/* All problems of a call, the one that phase one would report first at the front. */
typedef struct aclAttnReport aclAttnReport;

/* Holds a call against the rules; parameters as in aclnnFusedInferAttentionScoreV5GetWorkspaceSize, those that an older
 * version does not have being null or 0. Tensors may have null addresses: a call can be checked before its memory
 * exists. `options` may be null: version 5 under the rules in force. Returns 0 whatever is found; the caller destroys
 * the report. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnCheckFusedInferAttentionScore(
    const aclTensor *query, const aclTensorList *key, const aclTensorList *value, const aclTensor *pseShiftOptional,
    const aclTensor *attenMaskOptional, const aclIntArray *actualSeqLengthsOptional,
    const aclIntArray *actualSeqLengthsKvOptional, const aclTensor *deqScale1Optional,
    const aclTensor *quantScale1Optional, const aclTensor *deqScale2Optional, const aclTensor *quantScale2Optional,
    const aclTensor *quantOffset2Optional, const aclTensor *antiquantScaleOptional,
    const aclTensor *antiquantOffsetOptional, const aclTensor *blockTableOptional,
    const aclTensor *queryPaddingSizeOptional, const aclTensor *kvPaddingSizeOptional,
    const aclTensor *keyAntiquantScaleOptional, const aclTensor *keyAntiquantOffsetOptional,
    const aclTensor *valueAntiquantScaleOptional, const aclTensor *valueAntiquantOffsetOptional,
    const aclTensor *keySharedPrefixOptional, const aclTensor *valueSharedPrefixOptional,
    const aclIntArray *actualSharedPrefixLenOptional, const aclTensor *queryRopeOptional,
    const aclTensor *keyRopeOptional, const aclTensor *keyRopeAntiquantScaleOptional,
    const aclTensor *dequantScaleQueryOptional, const aclTensor *learnableSinkOptional,
    const aclIntArray *qStartIdxOptional, const aclIntArray *kvStartIdxOptional, int64_t numHeads, double scaleValue,
    int64_t preTokens, int64_t nextTokens, char *inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
    int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag, int64_t keyAntiquantMode,
    int64_t valueAntiquantMode, int64_t queryQuantMode, int64_t pseType, const aclTensor *attentionOut,
    const aclTensor *softmaxLse, const aclAttnCheckOptions *options, aclAttnReport **report);

/* Whether the profile accepts the call: no problem but limits of the host target. */
ACL_FUNC_VISIBILITY bool aclAttnIsReportAccepting(const aclAttnReport *report);
ACL_FUNC_VISIBILITY int32_t aclAttnGetReportCount(const aclAttnReport *report);
/* Bit of each profile that accepts the call. */
ACL_FUNC_VISIBILITY uint32_t aclAttnGetReportAcceptedBy(const aclAttnReport *report);
/* Strings stay valid until the report is destroyed. ACL_ERROR_INVALID_PARAM for an index out of range. */
ACL_FUNC_VISIBILITY aclError aclAttnGetReportProblem(const aclAttnReport *report, int32_t index,
                                                     aclAttnProblem *problem);
/* Null is fine. A report must be destroyed once and not be used after that. */
ACL_FUNC_VISIBILITY void aclAttnDestroyReport(aclAttnReport *report);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_RULES_H_ */
