//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-BOprV1a9.js";function t(t){return e(t,`base-ui`)}export{t};